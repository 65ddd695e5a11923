"""A conversation that is too long for the model that is to write its summary.

An agent asks for one when the model's window is full: the whole conversation, and the words
that ask, may be more than fits. Then the oldest half of it goes, and again, until it fits.
"""

from itertools import accumulate

from mitmproxy import http

from ...chat.errors.context_overflow import is_overflow
from ...protocols.answer_stream import error_in, object_in
from ...protocols.responses.compaction import BEFORE
from ...request.adaptation import DROPPED
from ...request.message_forms import role_of, text_of
from ...wire.json_text import Json, as_list, dumps
from ..message.message_body import content_of, put_content
from ..request.adapted_request import body_of
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from .refused_request import Retry, ask_again

NAME = "conversation-too-long"
_MOST = 4
"""Times that a half goes."""
_HEAD = ("system", "developer")


def retry_shorter(exchange: Exchange, running: RunningAnswer) -> Retry | None:
    """The retry of a request for a summary; None if it is none, or was not too long."""
    translated = exchange.translated
    is_summary = translated is not None and translated.answer.summarizes
    if not (is_summary and _is_too_long(running.received)):
        return None

    async def retry(flow: http.HTTPFlow) -> bool:
        for _ in range(_MOST):
            body = body_of(flow.request)
            shorter = _shortened(body.get("messages")) if body else None
            if body is None or shorter is None or not _is_too_long(running.received):
                break
            content = dumps({**body, "messages": shorter})
            has_reply = await ask_again(running, content)
            if has_reply is None:
                return False
            if not has_reply:
                break
            put_content(flow.request, content)
            running.record.request += ((NAME, DROPPED, "messages[*]"),)
        return True

    running.pending = True
    return retry


def _is_too_long(response: http.Response) -> bool:
    if response.status_code < 400:  # noqa: PLR2004
        return False
    try:
        value = object_in(content_of(response))
    except ValueError:
        return False
    error = value if "error" not in value else error_in(value, "")
    return is_overflow(error, response.status_code)


def _shortened(messages: Json) -> list[Json] | None:
    """Return *messages* without the oldest half of the conversation; None if that is all.

    The head stays, and so do the words that ask for the summary, and an earlier summary:
    it is all that is left of what went before. A result does not stay without its call.
    """
    listed = as_list(messages)
    first = [each for each in listed[:1] if role_of(each) in _HEAD]
    *said, asked = [*listed[len(first) :]] or [None]
    head = [*first, *filter(_is_summary, said)]
    said = [each for each in said if not _is_summary(each)]
    sizes = [*accumulate(len(dumps(each)) for each in said)]
    half = sizes[-1] / 2 if sizes else 0
    rest = [each for each, size in zip(said, sizes, strict=True) if size > half]
    rest = rest if len(rest) < len(said) else rest[1:]
    while rest and role_of(rest[0]) == "tool":
        del rest[0]
    return [*head, *rest, asked] if rest else None


def _is_summary(message: Json) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return role_of(message) == "user" and text_of(content).startswith(BEFORE)
