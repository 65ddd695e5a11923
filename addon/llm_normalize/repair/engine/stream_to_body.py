"""An event stream where a body was expected: what it says, as a body."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...chat.chunks.chunk import Chunk, choices
from ...chat.chunks.chunk_form import is_chunk, is_flat
from ...chat.conversion import body_of
from ...chat.errors.chunk_errors import is_error
from ...chat.errors.errors import lost
from ...chat.state.asked import Asked
from ...wire.event_boundary import DONE, EVENT
from ...wire.json_text import Json, value_in
from ...wire.sse import Event, EventParser
from ..fix import Fix
from .pipeline import Pipeline

MOST = 40_000 * EVENT
"""What of a body is looked at: as many events."""


def body_in(
    data: bytes, asked: Asked, fixes: Sequence[type[Fix]], label: str
) -> Json | None:
    """Return the answer or the error that the events in *data* say.

    None where they say none, break off, or are not understood: then *data* has to stay
    as it is.

    Args:
        data: The complete body.
        asked: What the request asked.
        fixes: The fixes to apply to the events, in order.
        label: Names the answer in log lines.
    """
    text = data.decode(errors="replace").encode()  # it is written anew
    values = list(values_in(text))
    done = any(
        event.data == DONE or event.raw.strip() == DONE for event in _events(text)
    )
    if len(values) == 1 and _is_body(values[0], done=done):
        return values[0]
    # Usage that was asked for comes in a chunk of its own, whatever else waits.
    wanted = replace(asked, stream=True, usage=True)
    pipeline = Pipeline(wanted, fixes, label=label)
    pipeline.parser.budget_left = MOST
    out = b"".join(pipeline.feed(data) + pipeline.end())
    chunks = list(values_in(out))
    failed = [each for each in chunks if is_error(each)]
    if pipeline.seen.is_cut and pipeline.seen.choices:
        return failed[0] if failed else lost("a part")
    if pipeline.raw_events:
        return None
    if failed:
        return failed[0]
    body = body_of(chunks)
    ended = [bool(choice["finish_reason"]) for choice in choices(body)]
    return body if ended and all(ended) else None


@dataclass(frozen=True, slots=True)
class Contents:
    """What an answer says, complete or not.

    Attributes:
        body: The answer as a body; without choices if it says nothing.
        errors: The errors it reports.
        unread: Events that are no chunks, and no errors.
    """

    body: Chunk
    errors: Sequence[Json]
    unread: int


def contents_of(
    data: bytes, asked: Asked, fixes: Sequence[type[Fix]], label: str
) -> Contents:
    """The contents of *data*, a stream of events or a body, as far as it goes.

    Args:
        data: What was received of the answer.
        asked: What the request asked, of a stream.
        fixes: The fixes to apply to it, in order.
        label: Names the answer in log lines.
    """
    pipeline = Pipeline(replace(asked, usage=True), fixes, label=label)
    pipeline.parser.budget_left = MOST
    values = list(values_in(b"".join(pipeline.feed(data) + pipeline.end())))
    errors = [each["error"] for each in values if each.get("error")]
    chunks = [each for each in values if is_chunk(each) and not is_error(each)]
    return Contents(body_of(chunks), errors, pipeline.raw_events.total())


def error_in(data: bytes) -> Json | None:
    """The value of the first event with data in *data*, JSON or a text."""
    for event in _events(data):
        if event.foreign and not event.is_value:
            return None  # no event stream: a page, say
        payload = _payload(event).strip()
        if payload and payload != DONE:
            return value_in(payload, payload.decode(errors="replace"))
    return None


def _events(data: bytes) -> Iterator[Event]:
    parser = EventParser()
    parser.budget_left = MOST
    for item in parser.read(data):
        if isinstance(item, Event):
            parser.budget_left -= EVENT
            yield item
    yield from (item for item in parser.end() if isinstance(item, Event))


def values_in(data: bytes) -> Iterator[Json]:
    """Yield the JSON values that the events in *data* bring, framed or not."""
    for event in _events(data):
        value = value_in(_payload(event))
        if value is not None:
            yield value


def _payload(event: Event) -> bytes:
    """Return the JSON that *event* brings, framed or not; empty without."""
    if event.is_value:
        return b"".join(line.text + line.end for line in event.lines)  # no BOM
    return event.data or b""


def _is_body(value: Json, *, done: bool) -> bool:
    """Tell whether *value* is a complete answer, or an error, and no chunk.

    Args:
        value: The only value of its stream.
        done: Whether `[DONE]` says that nothing was to follow.
    """
    if not isinstance(value, dict) or not is_chunk(value):
        return is_error(value)
    if is_flat(value):
        return done or "result" in value
    found = choices(value)
    return bool(found) and all("message" in each for each in found)
