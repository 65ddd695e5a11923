"""What may stand beside a key on a request, and what a client could misuse it by."""

import re
from urllib.parse import unquote_plus

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from ..mitm.helpers import hostport

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


def strip_for_key(flow: http.HTTPFlow) -> None:
    """Leave nothing on the request of *flow* by which its client could misuse a key.

    That is, have it sent elsewhere, or echoed: `Host` and authority are the server's own,
    credentials and what servers obey behind a proxy are dropped.
    """
    request = flow.request
    mode = flow.client_conn.proxy_mode
    asks_proxy = isinstance(mode, mode_specs.UpstreamMode) and request.scheme == "http"
    name_server(request, is_absolute=asks_proxy)
    request.path = without_credentials(request.path)
    request.trailers = None
    request.headers = http.Headers(
        (name, value)
        for name, value in request.headers.fields
        if _goes_along(name.decode("latin-1").lower(), value, asks_proxy=asks_proxy)
    )


def name_server(request: http.Request, *, is_absolute: bool) -> None:
    """Let *request* name the server that it goes to, and no other one.

    Args:
        request: The request.
        is_absolute: Whether its first line has to hold the whole URL, as an upstream
            proxy wants it; in reverse mode a client may have sent any.
    """
    place = hostport(request.scheme, request.host.rstrip("."), request.port)
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
