"""Why a flow ended before its time: who ended it, what its client gets, and how to end one."""

import errno
import logging
import re
from http import HTTPStatus

from mitmproxy import connection, http
from mitmproxy.flow import Error

from .client_stream import ClientStream
from .proxy_server import handler_of

logger = logging.getLogger(__name__)

_SILENT = ("(CANCEL)", "(HTTP_1_1_REQUIRED)", Error.KILLED_MESSAGE)
"""Errors that mitmproxy has no answer to: it resets the stream, or hangs up."""

_REFUSED_REQUESTS = (
    *(" from client, refusing ", "Invalid request scheme"),
    "received an HTTP CONNECT request",
)
"""How mitmproxy reports a request that it refuses (`validate_request`)."""


def client_left(flow: http.HTTPFlow) -> bool:
    """Tell whether it was the client that ended *flow*.

    mitmproxy says "stream reset by client" of either side's HTTP/2 reset
    (mitmproxy/proxy/layers/http/_http2.py); where both sides speak it, and its layers
    cannot be asked, only a client has a reason to cancel.
    """
    message = flow.error.msg.lower() if flow.error else ""
    if not flow.client_conn.connected or "client disconnected" in message:
        return True
    if message == Error.KILLED_MESSAGE.lower():
        return False
    try:
        client_stream = ClientStream.of(flow)
        if client_stream is not None:
            return client_stream.has_left
    except Exception:  # mitmproxy's inner parts: one may be gone
        logger.debug("normalize: unknown which side disconnected", exc_info=True)
    return _says_client(flow, message)


def _says_client(flow: http.HTTPFlow, message: str) -> bool:
    """Tell whether *message* means a client that has reset its stream."""
    if " by client (" not in message or flow.request.is_http11:
        return False
    upstream = flow.server_conn.alpn == b"h2" or (
        flow.response is not None and not flow.response.is_http11
    )
    return not upstream or "(cancel)" in message


def break_off(flow: http.HTTPFlow) -> None:
    """Break off an answer in mid-stream.

    A kill alone is seen at the stream's end only (mitmproxy #4711), so the stream is
    reset, too. If that is impossible, the provider's connection is closed as if it had
    broken.
    """
    if flow.killable:
        flow.kill()
    handler = handler_of(flow.client_conn)
    if handler is None:
        return
    try:
        client_stream = ClientStream.of(flow, handler)
        if client_stream is not None:
            client_stream.reset()
            return
    except Exception:  # it is made of mitmproxy's inner parts: one may be gone
        logger.exception("normalize: one stream cannot be reset alone")
    if flow.server_conn.connected:
        handler.close_connection(flow.server_conn)


def gateway_status(flow: http.HTTPFlow) -> int | None:
    """Return the status that mitmproxy gives in the provider's place, if any.

    By its message: the code (mitmproxy/proxy/layers/http/_events.py) is not exposed.
    """
    message = flow.error.msg if flow.error else ""
    if message.startswith("Request body exceeds"):
        return int(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if any(each in message for each in _REFUSED_REQUESTS):
        return int(HTTPStatus.BAD_REQUEST)
    silent = any(each in message for each in _SILENT)
    return None if silent or client_left(flow) else int(HTTPStatus.BAD_GATEWAY)


_FAILED = "the connection failed"
_INVALID = "it answered with invalid HTTP"
_REFUSED = "refused while validate_inbound_headers is on"  # mitmproxy's option
_UNKNOWN_CA = (
    r"its certificate is from an unknown CA (\1). Add that CA to the system's store, or "
    "to a file that SSL_CERT_FILE names, and start llm-normalize again; a mitmproxy that "
    "it has not started takes a file with all CAs to be trusted as its option "
    "ssl_verify_upstream_trusted_ca"
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
    """The meaning of mitmproxy's *message*, in words for a client."""
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
