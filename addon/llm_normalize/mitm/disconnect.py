"""Who ended a flow before its time, and how to end one."""

import logging
from http import HTTPStatus

from mitmproxy import http
from mitmproxy.flow import Error

from .client_stream import ClientStream
from .proxy_server import handler_of

logger = logging.getLogger(__name__)

_SILENT = ("(CANCEL)", "(HTTP_1_1_REQUIRED)", Error.KILLED_MESSAGE)
"""Errors that mitmproxy has no answer to: it resets the stream, or hangs up."""

_INVALID = (
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
    if any(each in message for each in _INVALID):
        return int(HTTPStatus.BAD_REQUEST)
    silent = any(each in message for each in _SILENT)
    return None if silent or client_left(flow) else int(HTTPStatus.BAD_GATEWAY)
