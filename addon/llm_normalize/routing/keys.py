"""Keys for hosts, and the token that clients have to present.

They are read when they are needed, so that they may change.
"""

import hmac
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from mitmproxy import http

from ..text.echo import MASK
from ..text.letters import places_of, spellings
from .hosts import HostPattern

HEADER = "authorization"
OTHER_HEADER = "x-api-key"
"""Where clients of Anthropic's protocol present theirs, without a scheme."""
_LEAST = 8  # characters of a token that no other words have by chance
_MOST = 4096  # characters of a value that are searched for other spellings
_NOTE = re.compile(r"(?:^|\s)#")
_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a key is.

    Attributes:
        text: `env:NAME` or `file:PATH`.
    """

    text: str = field(repr=False)

    @classmethod
    def parse(cls, text: str, *, has_lines: bool = False) -> "Secret":
        """Return the secret that *text* names.

        Args:
            text: Where it is.
            has_lines: Whether there may be several: see `read_each`.

        Raises:
            ValueError: It names none. The message does not quote it: it may be a key.
        """
        kind, colon, name = text.partition(":")
        if kind not in ("env", "file") or not colon or not name:
            raise ValueError("expected env:NAME or file:PATH, not the key itself")
        made = cls(text)
        _ = made.read_each() if has_lines else made.read()
        return made

    def read(self) -> str:
        """Return the secret.

        Raises:
            ValueError: There is none. The message names the place, not the key.
        """
        return self._checked(self._read())

    def read_each(self) -> list[str]:
        """Return the secrets, one a line; whose it is may stand behind it, as a comment.

        Raises:
            ValueError: There is none, likewise.
        """
        return [self._checked(each) for each in self.lines() or [""]]

    def lines(self) -> list[str]:
        """Return what `read_each` returns, invalid lines as well.

        Raises:
            ValueError: They cannot be read.
        """
        lines = (_NOTE.split(line)[0] for line in self._read().splitlines())
        return [line.strip() for line in lines if line.strip()]

    def _read(self) -> str:
        kind, _, name = self.text.partition(":")
        if kind == "env":
            found = os.environ.get(name, "")
        else:
            try:
                found = Path(name).expanduser().read_text(encoding="utf-8")
            except (OSError, ValueError, RuntimeError) as error:
                why = getattr(error, "strerror", None) or type(error).__name__
                raise ValueError(f"the file cannot be read ({why})") from None
        return found

    def _checked(self, found: str) -> str:
        kind, _, name = self.text.partition(":")
        found = found.strip()
        if not found:
            # Who has written the key in the place of a name, has it not printed.
            named = f"variable {name}" if _VARIABLE.fullmatch(name) else "variable"
            raise ValueError(f"the {named if kind == 'env' else 'file'} is empty")
        if not (found.isascii() and found.isprintable()) or " " in found:
            raise ValueError("the key has characters that a header may not have")
        return found


@dataclass(frozen=True, slots=True)
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
                    f"value {number}: expected host=env:NAME or host=file:PATH"
                )
            try:
                keys.append((pattern, Secret.parse(place.strip())))
            except ValueError as error:
                raise ValueError(f"{pattern}: {error}") from None
        return cls(keys)

    def secret(self, host: str, port: int) -> Secret | None:
        """Return the secret for *host*, None if it has none."""
        for pattern, secret in self.keys:
            if pattern.matches(host, port):
                return secret
        return None


def is_let_in(request: http.Request, tokens: list[str]) -> bool:
    """Tell whether the client has presented one of *tokens*, and take all off.

    A token goes no further, wherever it stands: in a path it becomes `***`, and what has
    it in a query or a header is dropped. A request that is refused goes nowhere, and anybody
    can send one: it is only seen to that none with the token is saved.
    """
    headers = request.headers
    scheme, _, given = str(headers.pop(HEADER, "")).partition(" ")
    headers.pop("proxy-authorization", None)
    other = str(headers.get(OTHER_HEADER, ""))
    # Most tokens of a team are nowhere in a request: each costs one look at all of it.
    rest = [request.path, request.authority, *map(": ".join, headers.items())]
    text = "\n".join(rest)
    unescaped = text.replace("\\/", "/").replace('\\"', '"').replace(r"\\", "\\")
    texts = text, unquote(text), unescaped
    is_known = False
    for token in tokens:
        known = _is_same(given, token) and scheme.lower() == "bearer"
        known |= _is_same(other, token)
        if known or any(token in each for each in texts):
            _take_off(request, token, is_thorough=known)
        is_known |= known
    return is_known


def _take_off(request: http.Request, token: str, *, is_thorough: bool) -> None:
    headers, search = request.headers, _Search(token, is_thorough=is_thorough)
    for name in {
        name for name, value in headers.items() if search.is_in_header(name, value)
    }:
        headers.pop(name, None)
    if search.is_in(request.authority):
        request.authority = ""
    path, mark, query = request.path.partition("?")
    # Without the token nobody can have it searched for field by field.
    fields = query.split("&") if is_thorough else [query]
    fields = [each for each in fields if not search.is_in_field(each)]
    if search.is_in("&".join(fields)):
        fields = []
    path = MASK if search.is_in(path) else path
    request.path = path + mark * bool(fields) + "&".join(fields)


def _is_same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.strip().encode(errors="replace"), token.encode())


class _Search:
    """Where a token may stand in a request.

    Args:
        token: The token. A short one is likely to be part of other words.
        is_thorough: Whether it is found however it is spelled, which takes long.
    """

    def __init__(self, token: str, *, is_thorough: bool) -> None:
        self._token = token
        self._spellings = spellings(token) if len(token) >= _LEAST else []
        self._is_thorough = is_thorough

    def is_in(self, text: str) -> bool:
        """Tell whether the token is somewhere in *text*."""
        if not self._spellings:
            return False
        if self._is_plainly_in(text) or any(each in text for each in self._spellings):
            return True
        return self._is_thorough and bool(places_of(self._token, text[:_MOST]))

    def is_in_header(self, name: str, value: str) -> bool:
        """Tell whether a header has it."""
        mark = ";" if name.lower() == "cookie" else None
        return self._is_part(value, mark) or self.is_in(f"{name}: {value}")

    def is_in_field(self, query: str) -> bool:
        """Tell whether a field of a query, or one of several, has it."""
        return self._is_part(query, "&") or self.is_in(query)

    def _is_part(self, text: str, mark: str | None) -> bool:
        """Tell whether it is one of the parts of *text*, or the value of one."""
        return self._is_plainly_in(text) and any(
            self._token in (part.strip(), part.partition("=")[2].strip('" '))
            for part in map(unquote, text.split(mark) if mark else [text])
        )

    def _is_plainly_in(self, text: str) -> bool:
        """Tell whether *text* has it as it is, or quoted once near the beginning."""
        return self._token in text or self._token in unquote(text[:_MOST])
