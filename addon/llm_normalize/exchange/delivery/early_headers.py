"""Headers of a stream that are sent before its provider answers.

A client then knows that its request is taken, and waits on. The status is 200 whatever the
provider says later: an error arrives as an event.
"""

from collections.abc import Callable

from mitmproxy import http

from ..message.response_headers import frame
from ..request.adapted_request import body_of
from ..state.exchange import Exchange
from .answer_streams import AnswerStreams

_NEWLINE = b"\n"

type Grant = Callable[[http.HTTPFlow, http.Response], None]
"""Lets a web page read a response, if its origin is allowed."""


def may_begin(exchange: Exchange) -> bool:
    """Tell whether the answer of an exchange, not sent yet, is a stream that may begin."""
    body = body_of(exchange.flow.request) if exchange.is_chat else None
    return body is not None and body.get("stream") is True


def _headers(exchange: Exchange, grant: Grant) -> http.Response:
    flow = exchange.flow
    made = http.Response.make(200, b"", {"content-type": "text/event-stream"})
    made.http_version = flow.request.http_version
    frame(flow.request, made)
    grant(flow, made)
    return made


async def keep_waiting(
    exchange: Exchange, streams: AnswerStreams, grant: Grant
) -> None:
    """Begin the stream of an exchange, or send it a newline if it has begun. Never raises.

    Args:
        exchange: The exchange, whose request asks for a stream: see `may_begin`.
        streams: Find its client.
        grant: Called with the headers, for the origin of a web page.
    """
    client = streams.client_of(exchange)
    if client is None:
        return
    try:
        if exchange.has_begun:
            await client.send_early(_NEWLINE)
        else:
            exchange.has_begun = await client.begin_early(_headers(exchange, grant))
    except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
        streams.cannot_send()
