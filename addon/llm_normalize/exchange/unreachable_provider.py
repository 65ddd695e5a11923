"""A provider that gives no answer: the client gets an error in OpenAI's form.

mitmproxy would send a web page of its own, or hang up.
"""

import logging
from collections.abc import Awaitable, Callable

from mitmproxy import http
from mitmproxy.flow import Error

from ..mitm.client_stream import ClientStream
from ..mitm.connection_errors import failing, gateway_status, reason_of
from ..routing.gate import refusal
from ..routing.own_address import LOOP
from ..routing.routes import is_reverse
from ..text.printable import brief
from .message.request_facts import place_of
from .state.exchange import Exchange

logger = logging.getLogger(__name__)

_BAD_GATEWAY = 502
_LOOP = 508

# How mitmproxy reports an error after which it always reports one to the client.
_REPORTED = ("exceeds mitmproxy's body_size_limit", "refusing to prevent")
_LOOPS = (LOOP, "Request destination unknown")  # mitmproxy/addons/proxyserver.py
_OTHER_VERSION = "(HTTP_1_1_REQUIRED)"


def error_of(exchange: Exchange) -> http.Response | None:
    """The response to the client of a flow with an error and no answer.

    Returns:
        None if that is mitmproxy's business: the flow is no concern of ours, its request
        is invalid, it was killed, or the client is to retry by HTTP/1.
    """
    flow = exchange.flow
    message = flow.error.msg if flow.error else ""
    is_fixed = exchange.route is not None or is_reverse(flow.client_conn.proxy_mode)
    if (
        not (exchange.is_selected if is_fixed else exchange.is_asked)
        or gateway_status(flow) not in (_BAD_GATEWAY, None)
        or message == Error.KILLED_MESSAGE
        or (_OTHER_VERSION in message and flow.request.is_http2)
    ):
        return None
    host = place_of(flow.request, brief(flow.request.host))
    if any(each in message for each in _LOOPS):
        sentence = f"{host} is this proxy itself. Change the route or the base URL."
        return refusal(_LOOP, sentence, "loop_detected")
    return refusal(_BAD_GATEWAY, f"{reason(flow)}.", "bad_gateway")


def reason(flow: http.HTTPFlow) -> str:
    """Return who does not answer a flow that has an error, and why."""
    return _reason(flow, flow.error.msg if flow.error else "")


def log_unconnected(flow: http.HTTPFlow) -> None:
    """Log why a CONNECT gets 502, of which clients show no more than that."""
    if message := flow.server_conn.error:
        logger.warning("normalize: %s", _reason(flow, message))


def _reason(flow: http.HTTPFlow, message: str) -> str:
    host = place_of(flow.request, brief(flow.request.host))
    asked = failing(host, message, flow.server_conn)
    return f"No answer from {asked}: {reason_of(message)}"


def end(
    flow: http.HTTPFlow,
    response: http.Response | None,
    close_record: Callable[[int | None], None],
    send_rest: Callable[[], Awaitable[None]] | None = None,
    *,
    is_early: bool = False,
) -> Awaitable[None] | None:
    """End a flow that has an error.

    Args:
        flow: The flow, in the hook `error`.
        response: What its client gets, unless something has been sent already.
        close_record: Called with the status that was sent; None if it is mitmproxy's.
        send_rest: Sends what waits in an answer that has begun, if anything does.
        is_early: Whether headers alone have been sent: see `waiting_request`.

    Returns:
        What has to be awaited in the hook.
    """
    client_stream, has_begun = _client_stream(flow)
    has_begun = has_begun and not is_early
    if client_stream is not None and has_begun and send_rest is not None:
        return _break(client_stream, send_rest, close_record)
    if client_stream is None or response is None or has_begun:
        close_record(None)
        return client_stream.drain() if client_stream else None
    return _answer(flow, response, client_stream, close_record)


def wait(flow: http.HTTPFlow) -> Awaitable[None] | None:
    """A wait until the client has all bytes sent before a break-off."""
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
