"""Which path an answer takes, decided when its headers have arrived.

They are sent on right after that, so what was asked, the status and the headers decide:
the body is not known yet.
"""

import logging
from enum import Enum, auto
from http import HTTPStatus

from mitmproxy import http

from ...text.printable import brief
from ...wire.content_encoding import decoder_for
from ...wire.header import header_in
from ...wire.json_text import value_in
from ...wire.limits import MAX_BODY
from ..message.message_body import content_of
from ..message.request_facts import quoted
from ..message.response_headers import answers_events
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer

logger = logging.getLogger(__name__)

PENDING = "answer-pending"
"""The fix that fetches a result."""
RESULT_ID = "nvcf-reqid"
"""The header with the id of a result that is fetched."""


_KINDS = ("application/json", "application/problem+json", "text/html", "text/plain")


class AnswerPath(Enum):
    """What becomes of the body of an answer."""

    STREAMED = auto()
    """It is repaired event by event, and sent as it arrives."""
    BUFFERED = auto()
    """It is collected, repaired as one body, and sent: `buffered_answer`.

    A second request may be made before that: `retry`, `workers_ai_run`.
    """
    FETCHED = auto()
    """It is collected, and replaced by the result that it promises: `pending_result`."""
    PASSED = auto()
    """It is sent as it arrives, and never read."""


def path_of(exchange: Exchange, running: RunningAnswer) -> AnswerPath:
    """The path of an answer whose headers have arrived.

    Args:
        exchange: The exchange.
        running: The answer.
    """
    flow, response = exchange.flow, exchange.response
    if is_fetched(response, running):
        return AnswerPath.FETCHED
    if not running.asked.stream or not is_good(response):
        return AnswerPath.BUFFERED
    if exchange.is_workers_ai and not answers_events(response):
        return AnswerPath.BUFFERED  # it may have to be requested as one body
    if callable(response.stream):
        host = brief(running.record.host)
        logger.warning("normalize: another addon streams %s; it stays as it is", host)
        return AnswerPath.PASSED
    encoding = header_in(response.headers.fields, b"content-encoding")
    if encoding and decoder_for(encoding) is None:
        logger.warning(
            "normalize: %s answers in an unsupported encoding (%s); it stays as it is",
            brief(running.record.host),
            quoted(flow, encoding),
        )
        return AnswerPath.PASSED
    waits = _may_wait(response, observe=running.settings.observe)
    return AnswerPath.BUFFERED if waits else AnswerPath.STREAMED


def _may_wait(response: http.Response, *, observe: bool) -> bool:
    """Tell whether the head of *response*, which is no stream, can wait for its body.

    A provider that knows the length of its answer has it already. So it is collected: a
    completion becomes a stream, and what says that the request failed gets its own status.
    Not where mitmproxy is to stream it, or nothing is to be changed.

    Args:
        response: The answer, whose head has arrived.
        observe: Whether it is only observed.
    """
    fields = response.headers.fields
    length = header_in(fields, b"content-length").strip()
    if not length:
        return False
    kind = header_in(fields, b"content-type").partition(";")[0].strip().lower()
    is_known = length.isascii() and length.isdecimal() and 0 < int(length) <= MAX_BODY
    is_kind = kind in _KINDS or kind.endswith("+json")
    return is_known and is_kind and not (response.stream or observe)


def is_pending(response: http.Response) -> bool:
    """Tell whether *response* says that the answer is not ready, and where it will be."""
    return response.status_code == HTTPStatus.ACCEPTED and bool(
        response.headers.get(RESULT_ID)
    )


def is_fetched(response: http.Response, running: RunningAnswer) -> bool:
    """Tell whether the result that *response* promises is fetched in its place."""
    may_be = running.native is None and running.settings.applies(PENDING)
    return may_be and is_pending(response)


def is_good(response: http.Response) -> bool:
    """Tell whether the status of *response* is one of success."""
    return 200 <= response.status_code < 300  # noqa: PLR2004


def is_workers_ai_answer(response: http.Response) -> bool:
    """Tell whether *response* in a provider's own form is a good one, and no error."""
    if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        return False
    try:
        value = value_in(content_of(response))
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("success") is not False
