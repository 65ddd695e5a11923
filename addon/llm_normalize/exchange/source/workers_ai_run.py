"""Workers AI's own API: the request there, and the model that does not stream.

Its streams and bodies are read like any other provider's. What remains is the request,
and the model that does not stream: its answer is requested as one body.
"""

from mitmproxy import http

from ...chat.state.asked import Asked
from ...routing.workers_ai import refusal_means_no_stream, run_body, run_path
from ...wire.json_text import dumps
from ..message.message_body import content_of
from ..request.adapted_request import Adapted, RequestEdit, body_of
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from .refused_request import Retry, ask_again

NAME = "request-not-native"
_STREAMING = ("stream", "stream_options")


def translate(exchange: Exchange, base: str) -> None:
    """Put the request of *exchange* into Workers AI's form, below the path *base*.

    Args:
        exchange: The exchange.
        base: The path of the account.

    Raises:
        ValueError: It cannot be translated; the message is a sentence for the client.
    """
    request, made = exchange.flow.request, exchange.adapted
    try:
        original = content_of(request)
    except ValueError:
        raise ValueError("The body of the request cannot be decoded.") from None
    sent = Asked.from_body(original).model
    run = run_body(original)
    request.path = run_path(base, sent)
    request.headers.pop("content-encoding", None)
    request.content = run.body
    if exchange.mapped_model is None:
        exchange.mapped_model = sent  # the answer does not name it
    edits: list[RequestEdit] = [*(made.edits if made else ())]
    edits += [(NAME, "dropped", path) for path in run.dropped]
    edits += [(NAME, "changed", path) for path in run.changed]
    exchange.adapted = Adapted(made.original if made else original, edits)


def retry_without_stream(flow: http.HTTPFlow, running: RunningAnswer) -> Retry | None:
    """The retry for one body, where the model does not stream."""
    response = running.received
    body = body_of(flow.request)
    if (
        not running.asked.stream
        or running.settings.observe
        or body is None
        or not body.get("stream")
        or not flow.server_conn.timestamp_start
        or not refusal_means_no_stream(response.status_code, _content(response))
    ):
        return None
    retry_body = dumps({key: body[key] for key in body if key not in _STREAMING})

    async def retry(flow: http.HTTPFlow) -> bool:
        has_reply = await ask_again(running, retry_body)
        if has_reply:
            flow.request.content = retry_body
        running.record.request += ((NAME, "dropped", "stream"),)
        return has_reply is not None

    return retry


def _content(response: http.Response) -> bytes:
    """Return the decoded body of *response*; nothing if it cannot be read."""
    try:
        return content_of(response)
    except ValueError:
        return b""
