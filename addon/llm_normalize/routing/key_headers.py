"""A key on a request: in its headers while that is under way, and in nothing saved."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

from mitmproxy import http
from mitmproxy.net.http import url
from mitmproxy.proxy import mode_specs

from ..text.echo import MASK
from .keys import HEADER

_CREDENTIAL = re.compile(
    r"(.*[_-])?(api[_-]?key|authori[sz]ation|(auth|access|api|subscription)[_-]key"
    r"|token|secret|password|cookie)|key|auth",
    re.IGNORECASE,
)
"""Names of headers and query fields by which clients present keys of their own."""
_STEERING = re.compile(
    r"(^|[_-])(forwarded|host|override|rewrite|original|ur[il]|base|upstream|target|proxy"
    r"|destination)([_-]|$)|^x[_-]http[_-]method$|^x[_-]real[_-]ip$|^via$|^upgrade$"
    r"|^http2-settings$|^transfer_"
)
"""Names of headers that let servers ask elsewhere, or for something else, than is asked.

Some servers take `_` for `-`.
"""

type Fields = tuple[tuple[bytes, bytes], ...]


class _Keyed(http.Headers):
    """Headers that have a key for as long as it is due, and for nobody before that.

    Args:
        fields: The others.
        key: The key.
        is_due: Tells whether the request may have it now.
    """

    def __init__(
        self, fields: Fields, key: str, is_due: Callable[[], bool] = lambda: False
    ) -> None:
        self._key = HEADER.encode(), f"Bearer {key}".encode()
        self._is_due = is_due
        super().__init__(fields)

    @property
    def fields(self) -> Fields:
        """All fields, as mitmproxy sends them."""
        return (*self._others, self._key) if self._is_due() else self._others

    @fields.setter
    def fields(self, fields: Fields) -> None:
        self._others = tuple(each for each in fields if each != self._key)

    def copy(self) -> http.Headers:  # type: ignore[override]
        """Return a copy, which has what is due now."""
        return http.Headers(self.fields)

    def masked(self) -> http.Headers:
        """Return the headers as they are saved."""
        return http.Headers((*self._others, (self._key[0], MASK.encode())))


def put(flow: http.HTTPFlow, key: str, is_due: Callable[[], bool]) -> None:
    """Put *key* on the request of *flow*, in the place of what the client sent.

    With it goes nothing by which a client could have it sent elsewhere, or echoed: `Host`
    and authority are the server's own, credentials and what servers obey behind a proxy
    are dropped.

    Whoever saves or copies the flow meanwhile gets `***`: mitmproxy's own `-w` does, when
    it ends. A copy of the request alone, which mitmproxy sends from HTTP/2 to HTTP/1, has
    the key.

    Args:
        flow: The flow.
        key: The key.
        is_due: Tells whether the connection is one that may have it.
    """
    request = flow.request
    mode = flow.client_conn.proxy_mode
    asks_proxy = isinstance(mode, mode_specs.UpstreamMode) and request.scheme == "http"
    name_server(request, is_absolute=asks_proxy)
    request.path = without_credentials(request.path)
    request.trailers = None
    fields = tuple(
        (name, value)
        for name, value in request.headers.fields
        if _goes_along(name.decode("latin-1").lower(), value, asks_proxy=asks_proxy)
    )
    request.headers = _Keyed(fields, key, is_due)
    state: Callable[[], Any] = flow.get_state
    copied: Callable[[], http.HTTPFlow] = flow.copy

    def state_without_key() -> Any:
        whole = state()
        whole["request"]["headers"] = _masked(flow.request.headers).fields
        return whole

    def copy_without_key() -> http.HTTPFlow:
        made = copied()
        made.request.headers = _masked(flow.request.headers)
        return made

    flow.get_state = state_without_key  # type: ignore[method-assign]
    flow.copy = copy_without_key  # type: ignore[method-assign]


def take_off(flow: http.HTTPFlow) -> None:
    """Take the key off again."""
    flow.request.headers = _masked(flow.request.headers)
    del flow.get_state, flow.copy  # the class's own count again


def name_server(request: http.Request, *, is_absolute: bool) -> None:
    """Let *request* name the server that it goes to, and no other one.

    Args:
        request: The request.
        is_absolute: Whether its first line has to hold the whole URL, as an upstream
            proxy wants it; in reverse mode a client may have sent any.
    """
    place = url.hostport(request.scheme, request.host.rstrip("."), request.port)
    request.authority = place if is_absolute and request.authority else ""
    request.host_header = place


def without_credentials(target: str) -> str:
    """Return a request's *target* without the keys in its query."""
    path, mark, query = target.partition("?")
    fields = [
        each
        for each in query.split("&")
        if not any(  # to some servers, `;` parts fields, too
            _CREDENTIAL.fullmatch(unquote_plus(part.partition("=")[0]))
            for part in each.split(";")
        )
    ]
    return path + mark * bool(fields) + "&".join(fields)


def _goes_along(name: str, value: bytes, *, asks_proxy: bool) -> bool:
    """Tell whether a header of a client's may be beside a key."""
    if name == "connection":  # it may name others, which are dropped on their way
        return value.strip().lower() in (b"close", b"keep-alive")
    if name == "host" or (asks_proxy and name == "proxy-authorization"):
        return True
    is_split = any(each in value for each in b"\r\n\0")  # by HTTP/2 it may be
    return not (is_split or _CREDENTIAL.fullmatch(name) or _STEERING.search(name))


def _masked(headers: http.Headers) -> http.Headers:
    return headers.masked() if isinstance(headers, _Keyed) else headers
