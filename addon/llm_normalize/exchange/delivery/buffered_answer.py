"""Answers whose body was collected: repaired as one body or made into a stream, and translated."""

import contextlib
import logging
import math
from http import HTTPStatus

from mitmproxy import http

from ...chat.endpoint import is_event_stream
from ...chat.errors.errors import phrase
from ...chat.errors.failed_body import is_page_or_words
from ...protocols.answer_stream import error_in, object_in
from ...protocols.protocol import JsonObject, UntranslatableError
from ...repair.engine.body import LARGE, STATUS, repair_body, status_due
from ...repair.engine.translated_output import TRANSLATED
from ...repair.outcome import EventRecord
from ...request.adaptations.response_format import StreamRequired
from ...routing.pace import delay_in_body
from ...wire.content_encoding import Decoder, LargeBodyError, decode
from ...wire.event_boundary import EVENT
from ...wire.json_text import dumps, is_container
from ...wire.limits import MAX_EVENT
from ..message.message_body import content_of
from ..message.request_facts import quoted
from ..request.translated_request import TranslatedRequest
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from ..stream.stream_rewriter import Turn
from .stream_or_buffer import is_good, is_workers_ai_answer

logger = logging.getLogger(__name__)

_BODY_BUDGET = 40_000 * EVENT  # what is looked at of a stream that is there in full
_JSON = "application/json"
type Figures = tuple[int, int, int]
"""Events, bytes received, bytes sent."""

_CONTAINERS = 200_000
"""Objects and arrays of a body that is repaired; log probabilities have many."""
_OBJECTS = 1000
"""Objects and lines of a body that is repaired at once: some cost as much as a hundred."""
_NONE = "The provider's answer is not a chat completion."
_FAILED = "The proxy failed at translating the answer."


def repair(exchange: Exchange, running: RunningAnswer) -> Figures:
    """Repair an answer whose body is complete, and return its figures.

    Args:
        exchange: The exchange.
        running: The answer.
    """
    flow, response = exchange.flow, exchange.response
    if response.data.trailers and not (flow.request.is_http2 or flow.request.is_http3):
        # mitmproxy cannot send them by HTTP/1, and would fail at them.
        response.trailers = None
    if running.rewriter is None and not response.stream:
        _make_stream(exchange, response, running)
    rewriter = running.rewriter
    if rewriter is None:
        return repair_response(response, running)
    content = response.data.content
    if content and not rewriter.bytes_in:
        # Made by another addon, or a server replay: it never passed the rewriter.
        # A large one is in a thread, where no stream waits.
        rewriter.turn = Turn(most=_BODY_BUDGET)
        rewriter.on_much = rewriter.on_growth = lambda: None  # all of it has come
        rewriter.pipeline.allow_body(MAX_EVENT)
        made = rewriter.read(content) + rewriter.read(b"")
        response.data.content = b"".join(made)
    return running.figures()


def _make_stream(
    exchange: Exchange, response: http.Response, running: RunningAnswer
) -> None:
    """Turn an answer whose body is complete into a stream, if one was asked."""
    if not (running.asked.stream and is_good(response)):
        return
    if exchange.is_workers_ai and not is_workers_ai_answer(response):
        return
    if running.settings.applies(STATUS) and _has_failed(response):
        return  # it gets a status of its own
    with contextlib.suppress(ValueError):
        response.data.content = content_of(response)
        running.stream_through(Decoder())
        running.prepare_headers(response)


def _has_failed(response: http.Response) -> bool:
    """Tell whether the body of *response* is nothing but an error, a page or words."""
    try:
        content = content_of(response)
        due = status_due(content, response.status_code)
        return due is not None or _is_page(response, content)
    except ValueError:
        return False


def _is_page(response: http.Response, content: bytes) -> bool:
    """Tell whether *response* has a page or words in the place of an answer."""
    kind = response.headers.get("content-type", "")
    is_ok = response.status_code == HTTPStatus.OK
    return is_ok and is_page_or_words(content, kind)


def _is_cut(
    response: http.Response, repaired: EventRecord | None, running: RunningAnswer
) -> bool:
    """Tell whether a stream that was asked for in the place of a body makes none."""
    is_own = any(name == StreamRequired.name for name, _, _ in running.record.request)
    is_made = repaired and (repaired.status or is_container(repaired.after[0]))
    is_stream = is_good(response) and is_event_stream(
        response.headers.get("content-type", "")
    )
    return is_own and is_stream and not (is_made or response.stream)


def is_slow(response: http.Response) -> bool:
    """Tell whether to repair the body of *response* would hold other streams up."""
    encoding = response.headers.get("content-encoding", "")
    try:
        content = decode(response.raw_content or b"", encoding, LARGE)
    except LargeBodyError:
        return True
    except ValueError:
        return False
    parts = content.count(b"{") + content.count(b"\n") + content.count(b"\r")
    return parts > _OBJECTS


def repair_response(response: http.Response, running: RunningAnswer) -> Figures:
    """Repair the body of *response*, unless it cannot be read. Never raises.

    Returns:
        Its figures: one event, or none without a body.
    """
    settings, label = running.settings, running.label
    size = len(response.raw_content or b"")
    content = repaired = None
    try:
        # What has been streamed has been sent already.
        content = None if response.stream else content_of(response, _CONTAINERS)
        status = response.status_code
        gives_status = any(fix.name == STATUS for fix in settings.fixes)
        is_page = gives_status and bool(content) and _is_page(response, content or b"")
        status = HTTPStatus.BAD_GATEWAY if is_page else status
        if content or (content is not None and status >= HTTPStatus.BAD_REQUEST):
            running.record.is_error = status >= HTTPStatus.BAD_REQUEST
            native, asked = running.native, running.asked
            repair_whole = repair_body if native is None else native.body
            repaired = repair_whole(content, status, asked, settings.fixes, label)
            if is_page:
                repaired.status = status
                repaired.fixed(STATUS)
    except ValueError as error:
        # It names the encoding, as that is named.
        why = quoted(running.flow, str(error))
        logger.warning("%s: the body cannot be decoded (%s)", label, why)
    except Exception:
        logger.exception("%s: repair failed, the body stays as it is", label)
    if _is_cut(response, repaired, running):  # the client has asked for no stream
        status = HTTPStatus.BAD_GATEWAY
        repaired = repair_body(b"", status, running.asked, settings.fixes, label)
        repaired.before, repaired.status = content or b"", status
        repaired.fixed(STATUS)
    if running.translated is not None and not response.stream:
        if repaired is None:
            repaired = EventRecord(0, response.raw_content or b"", [b""])
        status = response.status_code
        translate_body(repaired, status, running.translated, label)
        running.record.is_error = (repaired.status or status) >= HTTPStatus.BAD_REQUEST
    if repaired is not None:
        running.record.add_event(repaired)
        running.record.tokens = repaired.tokens
        running.said = repaired.said
        running.snapshot.add_received(content or b"")
        running.snapshot.add_sent(
            content or b"" if settings.observe else repaired.after[0]
        )
        if not settings.observe:
            _take(response, repaired, running)
    return 1 if content else 0, size, len(response.raw_content or b"")


def _take(
    response: http.Response, repaired: EventRecord, running: RunningAnswer
) -> None:
    """Put the repaired body in the place of the provider's, as what it is."""
    if repaired.status:
        response.status_code = repaired.status
        response.reason = phrase(repaired.status)
    delay = (
        delay_in_body(response) if running.settings.applies("error-fields") else None
    )
    if delay is not None:  # clients know the header alone
        response.headers["retry-after"] = str(math.ceil(delay))
    encoded = response.headers.pop("content-encoding", None)  # nobody asked for it
    if repaired.changed or encoded:
        response.content = repaired.after[0]
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    rename = repaired.changed or running.settings.applies("content-type-wrong")
    if kind != _JSON and rename and is_container(repaired.after[0]):
        response.headers["content-type"] = _JSON


def translate_body(
    record: EventRecord, status: int, translated: TranslatedRequest, label: str
) -> None:
    """Put the translation of a body in its place. Never raises.

    Args:
        record: The body, repaired; it gets a status of its own if it is no answer, though
            the provider's status says so.
        status: The status that the provider sent.
        translated: Its request.
        label: Names the answer in log lines.
    """
    value = object_in(record.after[-1])
    status, words = record.status or status, _NONE
    is_good = status < HTTPStatus.BAD_REQUEST
    made: JsonObject | None = None
    try:
        if is_good and isinstance(value.get("choices"), list):
            words = _FAILED
            made = translated.answer.body(value)
    except UntranslatableError as error:
        words = str(error)
    except Exception:
        logger.exception("%s: it cannot be translated", label)
    if made is None:
        if is_good:
            status = record.status = int(HTTPStatus.BAD_GATEWAY)
        else:
            words = phrase(status)
        made = translated.protocol.error_body(status, error_in(value, words))
    record.after[:] = [dumps(made)]
    record.fixed(TRANSLATED)
