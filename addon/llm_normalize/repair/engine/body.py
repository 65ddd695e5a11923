"""Bodies: a `chat.completion`, or an error."""

import logging
from collections.abc import Sequence
from http import HTTPStatus

from ...chat.chunks.chunk import ENVELOPE, choices, messages, tokens_of
from ...chat.chunks.chunk_form import enveloped_in, is_chunk, is_flat, is_readable
from ...chat.errors.chunk_errors import is_error
from ...chat.errors.errors import failures_in, status_of
from ...chat.errors.failed_body import says_any, tells_only_failure
from ...chat.escaped_answer import escaped_answer
from ...chat.state.asked import Asked
from ...chat.state.said_answer import SaidAnswer
from ...chat.state.stream_state import Seen
from ...wire.json_text import Json, dumps, loads
from ...wire.sse import BOM
from ..fix import Fix
from ..outcome import EventRecord
from .fix_chain import Chain
from .stream_to_body import body_in, error_in

logger = logging.getLogger(__name__)

STATUS = "error-status"
STREAM = "stream-in-body"
UNESCAPED = "data-unescaped"
_USAGE = "usage-missing"
_FAILURE = 400
LARGE = 1024 * 1024
"""Bytes of a body that is not repaired where other streams would wait for it."""


def repair_body(
    data: bytes, status: int, asked: Asked, fixes: Sequence[type[Fix]], label: str = ""
) -> EventRecord:
    """Repair the body *data* of an answer with *status*.

    What is not understood stays as it is, and so does all of it when nothing is to be
    repaired. A fix that fails is off, and its name logged. Never raises. An error
    under a good status gets one of its own, which is in the record.

    Args:
        data: The complete body, decoded.
        status: The HTTP status: 4xx and 5xx are errors.
        asked: What the request asked.
        fixes: The fixes to apply, in order.
        label: Names the answer in log lines.
    """
    record = EventRecord(0, data)
    by_parts = len(data) > LARGE
    source, read_as = _source(data, status, asked, fixes, label)
    gives_status = status < _FAILURE and any(fix.name == STATUS for fix in fixes)
    due = status_due(source, status) if gives_status else None
    status = due or status
    is_failure = status >= _FAILURE
    chain = Chain(fixes, asked, Seen(), label)
    is_whole = False
    while not is_whole:  # else it may be half changed: it is read anew
        record.fixes[:] = [read_as] if read_as else []
        value = _read(source, text=is_failure)
        if is_failure:
            value, is_whole = chain.error(record, value, status), True
        else:
            is_whole = not _is_answer(value) or chain.body(record, value)
    if data.startswith(BOM) and not isinstance(value, str | None):
        record.fixed("bom-sent")
    if not is_failure and _is_answer(value):
        record.said = SaidAnswer.of(
            next((message for _, message in messages(value)), None)
        )
    if _USAGE not in record.fixes:  # else it is made up
        usage = value.get("usage") if isinstance(value, dict) else None
        record.tokens = tokens_of(usage)
    record.after.append(dumps(value, by_parts=by_parts) if record.fixes else data)
    if due:
        record.status = due
        record.fixed(STATUS)
    return record


def _source(
    data: bytes, status: int, asked: Asked, fixes: Sequence[type[Fix]], label: str
) -> tuple[bytes, str]:
    """Return the JSON that *data* stands for, and the fix that made it of *data*, if any."""
    if _read(data, text=False):
        return data, ""
    names = {fix.name for fix in fixes}
    try:
        bare = data.removeprefix(BOM)
        if UNESCAPED in names and (fixed := escaped_answer(bare, Seen())):
            return fixed, UNESCAPED
        is_failure = status >= _FAILURE
        if STREAM in names:
            found = error_in(data) if is_failure else body_in(data, asked, fixes, label)
            return (data, "") if found is None else (dumps(found), STREAM)
    except Exception:
        logger.exception("%s: fix %s failed and is off for this answer", label, STREAM)
    return data, ""


def _is_answer(value: Json) -> bool:
    return (
        is_chunk(value)
        and is_readable(value)
        and (
            value.get("choices") is not None
            or is_flat(value)
            or enveloped_in(value) is not None
        )
    )


_TELLS_NOTHING = {*ENVELOPE, "provider"}
"""What OpenRouter sends beside `choices: null` where its provider has not answered."""


def status_due(data: bytes, status: int) -> int | None:
    """Return the status that an error under a good one should have had.

    None where it is none.
    """
    value = _read(data, text=False)
    # Words alone come with 202, too, and with a redirect.
    failed = tells_only_failure(value) if status == HTTPStatus.OK else is_error(value)
    if isinstance(value, list) and failed:
        value = value[0]
    if not isinstance(value, dict):
        return None
    found = choices(value) if is_chunk(value) else []
    if says_any(value):
        return None
    wrong = [choice["error"] for choice in found if choice.get("error")]
    wrong = wrong or failures_in(value)
    if wrong and not value.get("error"):
        return status_of({"error": wrong[0]})
    base = value.get("base_resp")
    silent = isinstance(base, dict) and bool(base.get("status_code"))
    several = value.get("errors")
    silent |= isinstance(several, list) and any(several)
    given = {key for key, each in value.items() if each is not None}
    is_named = given <= _TELLS_NOTHING and not given.isdisjoint(("id", "provider"))
    is_bare = is_named and enveloped_in(value) is None
    silent |= is_bare and value.get("choices", 0) is None
    return status_of(value) if failed or silent else None


def _read(data: bytes, *, text: bool) -> Json:
    """Return the JSON value of *data*; else its text, if that is wanted, or None."""
    try:
        return loads(data.removeprefix(BOM))
    except UnicodeDecodeError:  # what is repaired is written anew, the rest is not
        return _read(data.decode(errors="replace").encode(), text=text)
    except (ValueError, RecursionError):
        return data.decode(errors="replace") if text else None
