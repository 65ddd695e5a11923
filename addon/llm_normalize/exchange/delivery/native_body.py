"""The body of an answer whose provider speaks its client's protocol itself, nearly."""

from http import HTTPStatus

from ...chat.errors.errors import phrase
from ...protocols.answer_stream import error_in
from ...protocols.json_values import as_object
from ...repair.engine.body import STATUS, repair_body, status_due
from ...repair.outcome import EventRecord
from ...wire.json_text import Json, dumps, loads
from ..state.running_answer import RunningAnswer


def repair_native_body(data: bytes, status: int, running: RunningAnswer) -> EventRecord:
    """Repair the body *data* of such an answer with *status*.

    An error is repaired as chat's is, and put into the form of its protocol.
    """
    native, settings = running.native, running.settings
    assert native is not None
    value = _read(data)
    is_good = status < HTTPStatus.BAD_REQUEST
    gives_status = is_good and any(fix.name == STATUS for fix in settings.fixes)
    due = status_due(data, status) if gives_status else None
    if (due or status) >= HTTPStatus.BAD_REQUEST:
        record = EventRecord(0, data, [data])
        if not native.protocol.is_error(value):
            record = repair_body(
                data, due or status, running.asked, settings.fixes, running.label
            )
            _put_in_protocol(record, due or status, running)
        if due:
            record.status = due
            record.fixed(STATUS)
        return record
    record = EventRecord(0, data, [data])
    if isinstance(value, dict):
        reader = native.reader()
        events, fixes = reader.body(value)
        record.fixed(*fixes)
        record.tokens = reader.tokens
        if fixes:
            record.after[:] = [dumps(made) for _, made in events]
    return record


def _put_in_protocol(record: EventRecord, status: int, running: RunningAnswer) -> None:
    native = running.native
    assert native is not None
    fix = native.protocol.error_fix
    if not fix or fix in running.settings.skipped:
        return
    error = error_in(as_object(_read(record.after[0])), phrase(status))
    record.after[:] = [dumps(native.protocol.error_body(status, error))]
    record.fixed(fix)


def _read(data: bytes) -> Json:
    try:
        value: Json = loads(data)
    except (ValueError, RecursionError):
        return None
    return value
