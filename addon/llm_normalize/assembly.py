"""An event stream where a body was expected: what it says, in one piece."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .boundary import DONE
from .chunk import choices, is_chunk, is_error, is_flat
from .conversion import body_of
from .fix import Fix
from .jsontext import Json, loads
from .pipeline import Pipeline
from .sse import Event, EventParser
from .stream_state import Asked


def body_in(
    data: bytes, asked: Asked, fixes: Sequence[type[Fix]], label: str
) -> Json | None:
    """Return the answer or the error that the events in *data* say.

    None where they say none, break off, or are not understood: then *data* has to stay
    as it is.

    Args:
        data: The whole body.
        asked: What the request asked.
        fixes: The fixes to apply to the events, in order.
        label: Names the answer in log lines.
    """
    values = list(_values(data))
    if len(values) == 1 and _is_whole(values[0]):
        return values[0]
    # Usage that was asked for comes in a chunk of its own, whatever else waits.
    wanted = replace(asked, stream=True, usage=True)
    pipeline = Pipeline(wanted, fixes, label=label)
    out = b"".join(pipeline.feed(data) + pipeline.end())
    if pipeline.raw_events:
        return None
    chunks = list(_values(out))
    failed = [each for each in chunks if is_error(each)]
    if failed:
        return failed[0]
    seen = pipeline.seen.choices.values()
    if not seen or not all(choice.finished for choice in seen):
        return None
    return body_of(chunks)


def error_in(data: bytes) -> Json | None:
    """Return what the first event with data in *data* says, JSON or a text."""
    for event in _events(data):
        payload = (event.data or b"").strip()
        if payload and payload != DONE:
            try:
                return loads(payload)
            except (ValueError, RecursionError):
                return payload.decode(errors="replace")
    return None


def _events(data: bytes) -> Iterator[Event]:
    parser = EventParser()
    items = parser.feed(data) + parser.end()
    return (item for item in items if isinstance(item, Event))


def _values(data: bytes) -> Iterator[Json]:
    """Yield the JSON values that the events in *data* bring, framed or not."""
    for event in _events(data):
        payload = event.raw if event.is_value else event.data
        try:
            value = loads(payload or b"null")
        except (ValueError, RecursionError):
            continue
        if value is not None:
            yield value


def _is_whole(value: Json) -> bool:
    """Tell whether *value* is a whole answer, or an error, and no chunk."""
    if not isinstance(value, dict) or not is_chunk(value):
        return is_error(value)
    found = choices(value)
    return is_flat(value) or (bool(found) and all("message" in each for each in found))
