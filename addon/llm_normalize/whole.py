"""Answers in one piece, put in the place of the provider's."""

import logging
from http import HTTPStatus

from mitmproxy import http

from .body import repair_body
from .decoding import CorruptBodyError, decoder_for
from .errors import phrase
from .flows import quoted
from .jsontext import is_container
from .running import Running
from .step import Step

logger = logging.getLogger(__name__)

_JSON = "application/json"
_BODY = 64 * 1024 * 1024
"""Bytes of a body that are repaired; a larger one passes as it is."""


def repair_whole(
    response: http.Response, running: Running, label: str
) -> tuple[int, int, int]:
    """Repair the body of *response*, unless it cannot be read. Never raises.

    Returns:
        Events (one, or none without a body), bytes that came, bytes that leave.
    """
    settings = running.settings
    size = len(response.raw_content or b"")
    content = step = None
    try:
        # What has been streamed has left already.
        content = None if response.stream else _content(response)
        status = response.status_code
        if content or (content is not None and status >= HTTPStatus.BAD_REQUEST):
            running.answer.is_error = status >= HTTPStatus.BAD_REQUEST
            step = repair_body(content, status, running.asked, settings.fixes, label)
    except (ValueError, CorruptBodyError) as error:
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


def _content(response: http.Response) -> bytes | None:
    """Return the decoded body.

    Raises:
        ValueError: It cannot be decoded, or is too large to be looked at.
    """
    decoder = decoder_for(response.headers.get("content-encoding", ""))
    size = 0
    # In steps: mitmproxy's own decoder would make all of a bomb at once.
    for piece in decoder.feed(response.raw_content or b"") if decoder else ():
        size += len(piece)
        if size > _BODY:
            raise ValueError(f"it is larger than {_BODY >> 20} MiB")
    return response.get_content()


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
