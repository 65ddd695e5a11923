"""A provider that gives no answer: the client gets an error in OpenAI's form.

mitmproxy would send a web page of its own, or hang up.
"""

import errno
import logging
import re
from collections.abc import Awaitable, Callable

from mitmproxy import connection, http
from mitmproxy.flow import Error
from mitmproxy.proxy import events, layer
from mitmproxy.proxy.layers import modes

from ..routing.extended_methods import extend, restore
from ..routing.gate import refusal
from ..routing.own_address import LOOP
from ..routing.routes import is_reverse
from ..text.printable import brief
from .disconnect import gateway_status
from .exchange import Exchange
from .request_facts import place_of
from .stream.client_stream import ClientStream

logger = logging.getLogger(__name__)

_BAD_GATEWAY = 502
_LOOP = 508
_SCHEMES = ("http", "https")
_FINISH_START = "finish_start"
type _FinishStart = Callable[[modes.ReverseProxy], layer.CommandGenerator[str | None]]

# How mitmproxy reports an error after which it always reports one to the client.
_REPORTED = ("exceeds mitmproxy's body_size_limit", "refusing to prevent")
_LOOPS = (LOOP, "Request destination unknown")  # mitmproxy/addons/proxyserver.py
_OTHER_VERSION = "(HTTP_1_1_REQUIRED)"

_FAILED = "the connection failed"
_INVALID = "it answered with invalid HTTP"
_REFUSED = "refused while validate_inbound_headers is on"  # mitmproxy's option
_UNKNOWN_CA = (
    r"its certificate is from an unknown CA (\1). Set mitmproxy's option "
    "ssl_verify_upstream_trusted_ca to a file with all CAs to be trusted"
)
_REFUSED_CONNECT = "refused HTTP CONNECT request:"


def _numbered(*numbers: int) -> str:
    """Return the pattern of an error of the operating system."""
    return rf"\[(?:Errno|WinError) (?:{'|'.join(map(str, numbers))})\]"


# What the reports of mitmproxy and of the operating systems mean. They are not quoted:
# they have local addresses and the provider's bytes.
type _Reasons = tuple[tuple[str, str], ...]
# Of the peer of the connection: an upstream proxy, if there is one.
_UNCONNECTED: _Reasons = (
    (_numbered(errno.ECONNREFUSED, 1225, 10061), "it refused the connection"),
    (_numbered(errno.ETIMEDOUT, 121, 10060), "the connection timed out"),
    (
        _numbered(errno.EHOSTUNREACH, errno.ENETUNREACH, 1231, 1232, 10051, 10065),
        "there is no network route to it",
    ),
    (
        r"getaddrinfo|nodename|name or service|name resolution|no address",
        "its name cannot be resolved",
    ),
    (r"^error connecting to ", _INVALID),  # an upstream proxy's answer to CONNECT
)
_REASONS = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (
            r"^cannot parse .*: invalid content-length header: .\d+,",
            f"{_INVALID}: more than one content-length",
        ),
        (r"^unexpected server response|^cannot parse", _INVALID),
        (
            r"^received message with both transfer-encoding and content-length",
            f"{_INVALID}: both content-length and transfer-encoding, {_REFUSED}",
        ),
        (
            r"^received multiple (content-length|transfer-encoding) headers",
            rf"{_INVALID}: more than one \1, {_REFUSED}",
        ),
        (r"\bvalidate_inbound_headers\b", f"{_INVALID}, {_REFUSED}"),
        *_UNCONNECTED,
        (rf"{_REFUSED_CONNECT} (\d+)", r"the upstream proxy refused (\1)"),
        (
            # OpenSSL's words for a chain that ends at a CA which is not trusted.
            r"verify failed: (self.signed[\w ]+|unable to (?:get|verify)[\w ]+certificate)",
            _UNKNOWN_CA,
        ),
        (r"certificate verify failed: ([\w ,.-]+)", r"its certificate is invalid (\1)"),
        (r"does not speak TLS", "it does not speak TLS on this port"),
        (r"TLS version", "it supports no TLS version that the proxy does"),
        (r"\bOpenSSL\b|\balert\b|\bTLS\b", "the TLS handshake failed"),
        (r"body_size_limit", "its answer is larger than body_size_limit allows"),
        (r"reset by client|ConnectionTerminated", "it aborted the request"),
        (r"closed|disconnect", "it closed the connection before its answer was whole"),
        (r"protocol error|unexpected HTTP|invalid HTTP|refusing to", _INVALID),
    )
)


_IS_UNCONNECTED = re.compile(
    "|".join(pattern for pattern, _ in _UNCONNECTED), re.IGNORECASE
)
_IS_TLS = re.compile(r"\b(?:TLS|OpenSSL|alert)\b|verify failed", re.IGNORECASE)


def reason_of(message: str) -> str:
    """Return what mitmproxy's *message* means, in words for a client."""
    found = ((pattern.search(message), reason) for pattern, reason in _REASONS)
    return next((each.expand(reason) for each, reason in found if each), _FAILED)


def failing(host: str, message: str, server: connection.Server) -> str:
    """Return who does not answer: *host*, or an upstream proxy on the way to it.

    Args:
        host: The host.
        message: What mitmproxy reports.
        server: The connection, also one that was not opened.
    """
    if server.via is None or _REFUSED_CONNECT in message:
        return host  # or the reason names the proxy
    if _IS_UNCONNECTED.search(message):
        return f"the upstream proxy (for {host})"
    if server.via[0] == "https" and _IS_TLS.search(message):
        return (
            f"the upstream proxy, or from {host} through it"  # mitmproxy names neither
        )
    return f"{host} through the upstream proxy"


def error_of(exchange: Exchange) -> http.Response | None:
    """Return what the client gets for a flow that has an error and no answer.

    Returns:
        None if that is mitmproxy's business: the flow is no concern of ours, its request
        is invalid, somebody killed it, or the client is to retry by HTTP/1.
    """
    flow = exchange.flow
    message = flow.error.msg if flow.error else ""
    is_fixed = exchange.route is not None or is_reverse(flow.client_conn.proxy_mode)
    if (
        not (exchange.is_selected if is_fixed else exchange.is_chat)
        or gateway_status(flow) not in (_BAD_GATEWAY, None)
        or message == Error.KILLED_MESSAGE
        or (_OTHER_VERSION in message and flow.request.is_http2)
    ):
        return None
    host = place_of(flow.request, brief(flow.request.host))
    if any(each in message for each in _LOOPS):
        sentence = f"{host} is this proxy itself. Change the route or the base URL."
        return refusal(_LOOP, sentence, "loop_detected")
    asked = failing(host, message, flow.server_conn)
    sentence = f"No answer from {asked}: {reason_of(message)}."
    return refusal(_BAD_GATEWAY, sentence, "bad_gateway")


def end(
    flow: http.HTTPFlow,
    response: http.Response | None,
    close_record: Callable[[int | None], None],
    send_rest: Callable[[], Awaitable[None]] | None = None,
) -> Awaitable[None] | None:
    """End a flow that has an error.

    Args:
        flow: The flow, in the hook `error`.
        response: What its client gets, unless something has been sent already.
        close_record: Called with the status that was sent; None if it is mitmproxy's.
        send_rest: Sends what waits in an answer that has begun, if anything does.

    Returns:
        What has to be awaited in the hook.
    """
    client_stream, has_begun = _client_stream(flow)
    if client_stream is not None and has_begun and send_rest is not None:
        return _break(client_stream, send_rest, close_record)
    if client_stream is None or response is None or has_begun:
        close_record(None)
        return client_stream.drain() if client_stream else None
    return _answer(flow, response, client_stream, close_record)


def wait(flow: http.HTTPFlow) -> Awaitable[None] | None:
    """Return what waits until the client has what was sent, before a break-off."""
    client_stream, _ = _client_stream(flow)
    return client_stream.drain() if client_stream else None


def _client_stream(flow: http.HTTPFlow) -> tuple[ClientStream | None, bool]:
    """Return the client's side of *flow*, if there is one; whether its answer has begun."""
    client_stream, has_begun = None, False
    try:
        client_stream = ClientStream.of(flow)
        has_begun = client_stream is not None and client_stream.has_begun
    except Exception:  # it is made of mitmproxy's inner parts: one may be gone
        logger.exception("normalize: cannot send beside mitmproxy")
    return client_stream, has_begun


async def _break(
    client_stream: ClientStream,
    send_rest: Callable[[], Awaitable[None]],
    close_record: Callable[[int | None], None],
) -> None:
    try:
        await send_rest()
    finally:
        close_record(None)
    await client_stream.drain()


async def _answer(
    flow: http.HTTPFlow,
    response: http.Response,
    client_stream: ClientStream,
    close_record: Callable[[int | None], None],
) -> None:
    message = flow.error.msg if flow.error else ""
    ends = not any(each in message for each in _REPORTED)
    status = None
    try:
        if await client_stream.answer(response, ends=ends):
            status = response.status_code
    except Exception:  # as above
        logger.exception("normalize: mitmproxy answers in its own form")
    finally:
        close_record(status)


def let_clients_ask(is_due: Callable[[], bool]) -> None:
    """Let the clients of a reverse proxy ask, also if its provider is down.

    mitmproxy connects to it first, and hangs up if that fails (`connection_strategy`).

    Args:
        is_due: Tells whether they are to be let, asked when that has failed.
    """

    def extended(finish_start: _FinishStart) -> _FinishStart:
        def go_on(top: modes.ReverseProxy) -> layer.CommandGenerator[str | None]:
            """Go on after an error: the connection keeps it, and it answers requests."""
            error = yield from finish_start(top)
            scheme = getattr(top.context.client.proxy_mode, "scheme", "")
            if not error or scheme not in _SCHEMES or not is_due():
                return error
            top._handle_event = top.child_layer.handle_event  # noqa: SLF001
            yield from top.child_layer.handle_event(events.Start())
            return None

        return go_on

    if hasattr(modes.ReverseProxy, _FINISH_START):  # a later mitmproxy may not have it
        extend(modes.ReverseProxy, _FINISH_START, extended)


def stop_letting_clients_ask() -> None:
    """Let mitmproxy hang up again."""
    restore(modes.ReverseProxy, _FINISH_START)
