"""The gate's token on a request: found, compared, and taken off."""

import hmac
from urllib.parse import unquote

from mitmproxy import http

from ..text.echo import MASK
from ..text.folded_text import places_of, spellings
from .keys import HEADER, OTHER_HEADER

_LEAST = 8  # characters of a token that no other words have by chance
_MOST = 4096  # characters of a value that are searched for other spellings


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
