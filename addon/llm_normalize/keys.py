"""Keys that are put on requests, and the token that clients have to present.

A key is read when it is needed, so that it may change, and stands in the headers only
while the request is under way. Even then no saved flow has it.
"""

import hmac
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mitmproxy import http

from .record import KEY as NOTED
from .selection import HostPattern

MASK = "***"
_HEADER = "authorization"


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a key is.

    Attributes:
        text: `env:NAME` or `file:PATH`.
    """

    text: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "Secret":
        """Return the secret that *text* names.

        Raises:
            ValueError: It names none. The message does not quote it: it may be a key.
        """
        kind, colon, name = text.partition(":")
        if kind not in ("env", "file") or not colon or not name:
            raise ValueError("give env:NAME or file:PATH, not the key itself")
        made = cls(text)
        made.read()
        return made

    def read(self) -> str:
        """Return the secret.

        Raises:
            ValueError: There is none. The message names the place, not the key.
        """
        kind, _, name = self.text.partition(":")
        if kind == "env":
            found = os.environ.get(name, "")
        else:
            try:
                found = Path(name).expanduser().read_text(encoding="utf-8")
            except (OSError, ValueError, RuntimeError) as error:
                why = getattr(error, "strerror", None) or type(error).__name__
                raise ValueError(f"the file cannot be read ({why})") from None
        found = found.strip()
        if not found:
            place = (
                f"the variable {name} is empty"
                if kind == "env"
                else "the file is empty"
            )
            raise ValueError(place)
        if not (found.isascii() and found.isprintable()) or " " in found:
            raise ValueError("the key has characters that no header may have")
        return found


@dataclass(frozen=True)
class Keys:
    """The key for each host, the first that fits counts."""

    keys: Sequence[tuple[HostPattern, Secret]] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Keys":
        """Return the keys that *texts* name.

        Raises:
            ValueError: One of them names none; the message has its host alone.
        """
        keys = []
        for number, text in enumerate(texts, 1):
            host, equals, place = text.partition("=")
            try:
                pattern = HostPattern.parse(host) if equals else None
            except ValueError:
                pattern = None
            if pattern is None:
                raise ValueError(
                    f"value {number}: give host=env:NAME or host=file:PATH"
                )
            try:
                keys.append((pattern, Secret.parse(place.strip())))
            except ValueError as error:
                raise ValueError(f"{pattern}: {error}") from None
        return cls(keys)

    def secret(self, host: str, port: int) -> Secret | None:
        """Return the secret for *host*, None if it has none."""
        return next(
            (secret for pattern, secret in self.keys if pattern.matches(host, port)),
            None,
        )


def put(flow: http.HTTPFlow, key: str) -> None:
    """Put *key* on the request of *flow*, in the place of what the client sent.

    Whoever saves or copies the flow meanwhile gets `***`: mitmproxy's own `-w` does, when
    it ends. A copy of the request alone, which mitmproxy sends from HTTP/2 to HTTP/1, has
    the key.
    """
    headers = flow.request.headers
    for name in ("x-api-key", "api-key"):
        headers.pop(name, None)
    headers[_HEADER] = f"Bearer {key}"
    state: Callable[[], Any] = flow.get_state
    copied: Callable[[], http.HTTPFlow] = flow.copy

    def state_without_key() -> Any:
        told = state()
        told["request"]["headers"] = _masked(flow.request.headers).fields
        return told

    def copy_without_key() -> http.HTTPFlow:
        made = copied()
        made.request.headers = _masked(made.request.headers)
        return made

    flow.get_state = state_without_key  # type: ignore[method-assign]
    flow.copy = copy_without_key  # type: ignore[method-assign]


def take_off(flow: http.HTTPFlow) -> None:
    """Take the key off again."""
    flow.request.headers = _masked(flow.request.headers)
    del flow.get_state, flow.copy  # the class's own count again


def key_of(flow: http.HTTPFlow) -> bytes:
    """Return the key that is on the request of *flow*."""
    value = str(flow.request.headers.get(_HEADER, ""))
    return value.partition(" ")[2].encode()


def _masked(headers: http.Headers) -> http.Headers:
    fields = (
        (name, MASK.encode() if name.lower() == _HEADER.encode() else value)
        for name, value in headers.fields
    )
    return http.Headers(tuple(fields))


def hide(flow: http.HTTPFlow, key: bytes) -> None:
    """Take a key that the provider has echoed out of what has come and is kept."""
    response = flow.response
    assert response is not None
    response.data.content = (response.raw_content or b"").replace(key, MASK.encode())
    if "content-length" in response.headers:
        response.headers["content-length"] = str(len(response.data.content))
    noted = flow.metadata.get(NOTED)
    if isinstance(noted, dict):
        left_out = noted.get("changed", 0)
        noted.update(pairs=[], came=None, left_out=left_out, left_out_at=0)


def is_let_in(request: http.Request, token: str) -> bool:
    """Tell whether the client has presented *token*, and take it off.

    It takes as long whatever the client presents.
    """
    given = request.headers.pop(_HEADER, "")
    scheme, _, said = given.partition(" ")
    for name in [name for name, value in request.headers.items() if token in value]:
        del request.headers[name]  # it goes no further, wherever it stands
    same = hmac.compare_digest(said.strip().encode(errors="replace"), token.encode())
    return same and scheme.lower() == "bearer"
