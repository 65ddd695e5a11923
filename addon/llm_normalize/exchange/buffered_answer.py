"""Answers in one piece, put in the place of the provider's."""

import logging
from http import HTTPStatus

from mitmproxy import http

from ..chat.errors import phrase
from ..repair.body import LARGE, repair_body
from ..repair.outcome import Step
from ..wire.content_encoding import LargeBodyError, decode
from ..wire.json_text import is_container
from .message_body import content_of
from .request_facts import quoted
from .running_answer import Running

logger = logging.getLogger(__name__)

_JSON = "application/json"
type Figures = tuple[int, int, int]
"""Events, bytes received, bytes sent."""

_CONTAINERS = 200_000
"""Objects and arrays of a body that is repaired; log probabilities have many."""
_OBJECTS = 1000
"""Objects and lines of a body that is repaired at once: some cost as much as a hundred."""


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


def repair_whole(response: http.Response, running: Running, label: str) -> Figures:
    """Repair the body of *response*, unless it cannot be read. Never raises.

    Returns:
        Its figures: one event, or none without a body.
    """
    settings = running.settings
    size = len(response.raw_content or b"")
    content = step = None
    try:
        # What has been streamed has left already.
        content = None if response.stream else content_of(response, _CONTAINERS)
        status = response.status_code
        if content or (content is not None and status >= HTTPStatus.BAD_REQUEST):
            running.answer.is_error = status >= HTTPStatus.BAD_REQUEST
            step = repair_body(content, status, running.asked, settings.fixes, label)
    except ValueError as error:
        why = quoted(
            running.flow, str(error)
        )  # it names the encoding, as that is named
        logger.warning("%s: the body cannot be decoded (%s)", label, why)
    except Exception:
        logger.exception("%s: repair failed, the body stays as it is", label)
    if step is not None:
        running.answer.step(step)
        running.kept.take(content or b"")
        running.kept.add(content or b"" if settings.observe else step.after[0])
        if not settings.observe:
            _take(response, step, running)
    return 1 if content else 0, size, len(response.raw_content or b"")


def _take(response: http.Response, step: Step, running: Running) -> None:
    """Put the repaired body in the place of the provider's, as what it is."""
    if step.status:
        response.status_code = step.status
        response.reason = phrase(step.status)
    encoded = response.headers.pop("content-encoding", None)  # nobody asked for it
    if step.changed or encoded:
        response.content = step.after[0]
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    rename = step.changed or running.settings.applies("content-type-wrong")
    if kind != _JSON and rename and is_container(step.after[0]):
        response.headers["content-type"] = _JSON
