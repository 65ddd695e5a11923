"""Facts of a request: its host, what it asks, and what in it is secret."""

import functools
import re
from dataclasses import replace

from mitmproxy import http

from ...chat.state.asked import Asked
from ...mitm.helpers import parse_authority
from ...mitm.reverse_proxy import sent_host
from ...text.echo import Echo
from ...text.network_address import netloc
from ...text.printable import brief
from ...wire.header import header_in
from .message_body import request_body
from .response_headers import answers_events

_SECRET = 6
"""Characters; shorter values are placeholders ("x", "none") and would garble lines."""

_TELLING = re.compile(r"auth|key|token|secret|cookie|sig", re.IGNORECASE)
"""Names of headers and query fields that carry a key."""
_TELLING_NAME = re.compile(_TELLING.pattern.encode(), re.IGNORECASE)
_LONGEST = 64  # bytes of a name that is remembered


def named_host(request: http.Request) -> str:
    """Return the host that the client names, as `pretty_host` does, which takes long."""
    named = sent_host(request)
    return _host_in(named) if named else request.host


def places_of(request: http.Request) -> list[tuple[str, int]]:
    """Return both host names by which a user may know that of *request*, with its port.

    They differ behind the `keep_host_header` option, say.
    """
    return [(host, request.port) for host in (request.host, named_host(request))]


@functools.lru_cache(maxsize=256)
def _host_in(authority: str) -> str:
    return parse_authority(authority, check=False)[0]


def place_of(request: http.Request, host: str = "") -> str:
    """Return the host of *request*, with its port unless that is its scheme's own.

    Args:
        request: The request.
        host: Another name of that host than the one in its `Host`.
    """
    return _place(host or named_host(request), request.port, request.scheme)


@functools.lru_cache(maxsize=256)
def _place(host: str, port: int, scheme: str) -> str:
    return netloc(scheme, host.strip("[]"), port)


def asked_of(
    flow: http.HTTPFlow,
    *,
    strict: bool,
    body: bytes | None = None,
    mapped_model: str | None = None,
) -> Asked:
    """Read the request of *flow*.

    Args:
        flow: The flow.
        strict: Whether only fields that OpenAI defines are wanted.
        body: The body of the request before it was changed, if it was.
        mapped_model: The model asked for, where another one was sent.
    """
    request, response = flow.request, flow.response
    body = request_body(request) if body is None else body
    begun = int((response or request).data.timestamp_start)
    if body is None and response is not None:
        # Sent on unread (stream_large_bodies, say): the answer tells what was asked.
        is_stream = answers_events(response)
        asked = Asked(stream=is_stream, id=flow.id, time=begun, strict=strict)
    else:
        asked = Asked.from_body(body, exchange=flow.id, time=begun, strict=strict)
    if mapped_model is not None:
        asked = replace(asked, model=mapped_model, is_mapped=True)
    return asked


def secrets_of(request: http.Request) -> tuple[str, ...]:
    """The secrets in the request's headers and query, the longest first."""
    telling = [
        (name, value)
        for name, value in request.headers.fields
        if (_is_telling(name) if len(name) <= _LONGEST else _TELLING_NAME.search(name))
    ]
    values = [value.decode("utf-8", "surrogateescape") for _, value in telling]
    if "?" in request.path:  # to read what is not there takes long
        query = request.query.items(multi=True)
        values += [value for name, value in query if _TELLING.search(name)]
    values += [value.partition(" ")[2].strip() for value in values]  # after its scheme
    if header_in(telling, b"cookie"):
        values += [value for _, value in request.cookies.items(multi=True)]
    secrets = {value for value in values if len(value) >= _SECRET}
    return tuple(sorted(secrets, key=len, reverse=True))


@functools.lru_cache(maxsize=256)
def _is_telling(name: bytes) -> bool:
    """Tell whether a header carries a key, by its *name*; quicker than to search it."""
    return _TELLING_NAME.search(name) is not None


def quoted(flow: http.HTTPFlow, text: str) -> str:
    """Return words of the provider of *flow* for a log line: they may repeat the request."""
    echo = Echo(request_body(flow.request), secrets_of(flow.request))
    return brief(echo.hidden(text))
