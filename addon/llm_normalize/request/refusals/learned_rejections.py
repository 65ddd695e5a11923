"""What providers have refused in this run, by host, model and client.

What one client's request was refused for changes no other client's.
"""

import secrets
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b

from ..remembered_answers import RememberedAnswers
from .dropped_parameters import Change

PAIRS = 256
"""Hosts with a model and a client that are remembered; clients choose the names."""
CHANGES = 32
"""Changes that are remembered of one of them."""
_NAME = 200  # characters of a model's name

type Key = tuple[str, int, str, bytes]
"""A host, its port, a model, and what tells one client from another, see `mark_of`."""

_SECRET = secrets.token_bytes(32)  # of this process: no mark can be guessed from a key


def mark_of(credentials: Iterable[bytes]) -> bytes:
    """A hash for a client's *credentials*, which does not reveal them."""
    data = b"".join([b"%d:%b" % (len(each), each) for each in credentials])
    return blake2b(data, key=_SECRET, digest_size=32).digest()


class Learned:
    """What helped; the pair that was asked for longest ago goes first.

    Attributes:
        answers: What is remembered of answers, for providers that demand it back.
    """

    def __init__(self) -> None:
        self.answers = RememberedAnswers()
        self._changes: OrderedDict[Key, tuple[Change, ...]] = OrderedDict()

    def knows(self, host: str, port: int) -> bool:
        """Tell whether anything may be known of this host."""
        return any(key[:2] == (host, port) for key in self._changes)

    def of(self, key: Key) -> tuple[Change, ...]:
        """The changes that have helped at *key*."""
        found = self._changes.get(key, ())
        if found:
            self._changes.move_to_end(key)
        return found

    def add(self, key: Key, changes: Iterable[Change]) -> None:
        """Remember that *changes* helped at *key*."""
        if len(key[2]) > _NAME:
            return
        known = dict.fromkeys((*self._changes.get(key, ()), *changes))
        if not known:
            return
        self._changes[key] = tuple(known)[:CHANGES]
        self._changes.move_to_end(key)
        while len(self._changes) > PAIRS:
            self._changes.popitem(last=False)
