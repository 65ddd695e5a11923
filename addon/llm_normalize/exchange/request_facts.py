"""What a request says of itself: its host, what it asks, and what in it is secret."""

import re
from dataclasses import replace
from urllib.parse import urlsplit

from mitmproxy import http

from ..chat.stream_state import Asked
from ..routing.routes import ROUTED
from ..text.echo import Echo
from ..text.printable import brief
from .message_body import request_body
from .response_headers import answers_events

ASKED = "llm_normalize_asked"
"""Where a flow's metadata holds the model asked for, where another one was sent."""

_SECRET = 6
"""Characters; shorter values are placeholders ("x", "none") and would garble lines."""

_TELLING = re.compile(r"auth|key|token|secret|cookie|sig", re.IGNORECASE)
"""Names of headers and query fields that carry a key."""

_PORTS = {"http": 80, "https": 443}


def place_of(request: http.Request, host: str = "") -> str:
    """Return the host of *request*, with its port unless that is its scheme's own.

    Args:
        request: The request.
        host: Another name of that host than the one in its `Host`.
    """
    host = (host or request.pretty_host).strip("[]")
    host = f"[{host}]" if ":" in host else host
    is_usual = request.port == _PORTS.get(request.scheme)
    return host if is_usual else f"{host}:{request.port}"


def path_of(flow: http.HTTPFlow) -> str:
    """Return the path that the client of *flow* asked for, without its query."""
    route = flow.metadata.get(ROUTED)
    if isinstance(route, list) and route:
        return urlsplit(str(route[0])).path
    return flow.request.path.partition("?")[0]


def asked_of(flow: http.HTTPFlow, *, strict: bool, body: bytes | None = None) -> Asked:
    """Return what the request of *flow* asked; with *body*, before that was changed."""
    request, response = flow.request, flow.response
    body = request_body(request) if body is None else body
    if body is None and response is not None:
        # Sent on unread (stream_large_bodies, say): the answer tells what was asked.
        asked = Asked(stream=answers_events(response))
    else:
        asked = Asked.from_body(body)
    begun = response.timestamp_start if response else request.timestamp_start
    name = flow.metadata.get(ASKED)
    if isinstance(name, str):
        asked = replace(asked, model=name, is_mapped=True)
    return replace(asked, id=flow.id, time=int(begun), strict=strict)


def secrets_of(request: http.Request) -> tuple[str, ...]:
    """Return what in the request's headers and query must not reach a log."""
    fields = [*request.headers.items(multi=True), *request.query.items(multi=True)]
    values = [value for name, value in fields if _TELLING.search(name)]
    values += [value.partition(" ")[2].strip() for value in values]  # after its scheme
    values += [value for _, value in request.cookies.items(multi=True)]
    secrets = {value for value in values if len(value) >= _SECRET}
    return tuple(sorted(secrets, key=len, reverse=True))


def quoted(flow: http.HTTPFlow, text: str) -> str:
    """Return words of the provider of *flow* for a log line: they may repeat the request."""
    echo = Echo(request_body(flow.request), secrets_of(flow.request))
    return brief(echo.hidden(text))
