"""What is remembered of answers: what a client may not send back, and a provider demands.

In memory alone, by credentials and host: a reload and another process know nothing of it.
Bounded by count, size and age, whatever clients and providers do. It is put back only into
requests that a provider has refused for its absence.
"""

import time
from collections import OrderedDict
from functools import partial
from hashlib import blake2b
from typing import Protocol

from ..wire.json_text import Json, dumps
from .adaptation import Memory, Recalled

COUNT = 4096
"""Calls and texts that are remembered."""
SIZE = 16 * 1024 * 1024
"""Characters that are remembered of all of them."""
AGE = 24 * 60 * 60
"""Seconds after which nothing is remembered."""
_EACH = 256 * 1024  # characters of one of them
_ROOM = 256  # what one takes besides its characters


class Said(Protocol):
    """What an answer has said: see `chat.state.said_answer`."""

    @property
    def calls(self) -> dict[int, tuple[str, dict[str, Json]]]:
        """The ids of its calls, each with the fields that OpenAI does not define."""

    @property
    def reasoning(self) -> str:
        """Its reasoning."""

    @property
    def text(self) -> str:
        """Its content, by which it is known without calls."""


type _Place = tuple[bytes, str, int]
"""A client's mark, a host and its port."""


class RememberedAnswers:
    """What is remembered of the answers of this run; what is oldest goes first."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[Recalled, int, float]] = OrderedDict()
        self._size = 0  # characters that are remembered, with what they take besides

    def of(self, client: bytes, host: str, port: int) -> Memory:
        """The memory of a host's answers to *client*."""
        return partial(self._find, (client, host, port))

    def add(self, client: bytes, host: str, port: int, said: Said) -> None:
        """Remember what a *client* has got from a host."""
        place, reasoning = (client, host, port), said.reasoning
        found = [("call", *call) for call in said.calls.values()]
        for kind, name, extra in found or [("text", said.text, {})]:
            size = len(reasoning) + (len(dumps(extra)) if extra else 0)
            if name and 0 < size <= _EACH:
                self._put(_key(place, kind, name), Recalled(reasoning, extra), size)

    def _put(self, key: bytes, recalled: Recalled, size: int) -> None:
        self._forget(key)
        size += _ROOM
        self._known[key] = recalled, size, time.monotonic()
        self._size += size
        while len(self._known) > COUNT or self._size > SIZE or self._is_old():
            self._forget(next(iter(self._known)))

    def _is_old(self) -> bool:
        _, _, since = next(iter(self._known.values()))
        return time.monotonic() - since > AGE

    def _forget(self, key: bytes) -> None:
        _, size, _ = self._known.pop(key, (None, 0, 0))
        self._size -= size

    def _find(self, place: _Place, kind: str, name: Json) -> Recalled | None:
        if not isinstance(name, str) or not name or not self._known:
            return None
        key = _key(place, kind, name)
        recalled, _, since = self._known.get(key, (None, 0, 0))
        if recalled is not None and time.monotonic() - since > AGE:
            self._forget(key)
            return None
        return recalled


def _key(place: _Place, kind: str, name: str) -> bytes:
    """Return under what something is remembered: its hash, as names may be long."""
    client, host, port = place
    head = f"{host}:{port}:{kind}:".encode(errors="surrogatepass")
    name = name.strip() if kind == "text" else name
    data = client + head + name.encode(errors="surrogatepass")
    return blake2b(data, digest_size=20).digest()
