"""Today's fixes over an answer of another day: what differs."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from ..chat.state.asked import Asked
from ..records.difference import changes
from ..records.masking import text_of
from ..repair.engine.body import repair_body
from ..repair.engine.event_stream import SHARED_BUDGET, EventStream
from ..repair.engine.pipeline import Pipeline
from ..repair.fix import Fix
from ..repair.outcome import EventRecord
from ..wire.sse import Event, EventParser

_MOST = 10 * SHARED_BUDGET  # of an answer is looked at
_SHOWN = 3
"""Differences of an answer that are shown."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """What becomes of an answer.

    Attributes:
        out: What is sent.
        fixes: How often each fix changed something.
    """

    out: bytes
    fixes: Counter[str]


class Native(Protocol):
    """Reads an answer in its client's own protocol: see `exchange.request.native_answer`."""

    @property
    def name(self) -> str:
        """Its protocol's."""

    def stated(self, asked: Asked, /) -> Self:
        """The same, of a request of which nothing is known but what *asked* says."""

    def stream(
        self, observe: Callable[[EventRecord], None], label: str, /
    ) -> EventStream:
        """The repair that a stream passes."""

    def body(
        self, data: bytes, status: int, asked: Asked, fixes: Sequence[type[Fix]], /
    ) -> EventRecord:
        """Repair a body."""


def repair(
    received: bytes,
    asked: Asked,
    fixes: Sequence[type[Fix]],
    *,
    native: Native | None = None,
    status: int = 200,
    is_stream: bool = True,
    is_complete: bool = True,
) -> Repaired:
    """The repaired form of an answer, given at once. Never raises.

    Args:
        received: What the provider sent, decoded.
        asked: What the request asked.
        fixes: The fixes to apply, in order.
        native: What reads it, if it is not chat.
        status: The HTTP status, of a body.
        is_stream: Whether it is repaired event by event.
        is_complete: Whether it comes to its end; else it breaks off there.
    """
    records: list[EventRecord] = []
    if is_stream:
        pipeline: EventStream = (
            Pipeline(asked, fixes, records.append, "again")
            if native is None
            else native.stream(records.append, "again")
        )
        pipeline.parser.budget_left = _MOST
        out = pipeline.feed(received)
        if is_complete:
            out += pipeline.end()
        else:
            pipeline.abandon()
    else:
        repair_whole = repair_body if native is None else native.body
        records.append(repair_whole(received, status, asked, fixes))
        out = records[0].after
    changed = (name for record in records if record.changed for name in record.fixes)
    return Repaired(b"".join(out), Counter(changed))


def differences(
    sent: bytes, now: bytes, *, is_stream: bool = True, is_complete: bool = True
) -> Iterator[str]:
    """Yield where two answers differ, event by event; no more than a few lines.

    Args:
        sent: What was sent then.
        now: What would be sent now.
        is_stream: Whether they are event streams.
        is_complete: Whether both are there to their ends; else the longer one goes on.
    """
    if not is_stream:
        yield from map(str, changes(text_of(sent), [text_of(now)])[:_SHOWN])
        return
    old, new = _blocks(sent), _blocks(now)
    if not is_complete:
        old, new = (each[: max(0, min(len(old), len(new)) - 1)] for each in (old, new))
    count = 0
    for n in range(max(len(old), len(new))):
        before = old[n : n + 1]
        after = new[n : n + 1]
        if before == after:
            continue
        count += 1
        if count <= _SHOWN:
            found = changes(before[0] if before else None, after)
            yield f"event {n}: {'; '.join(map(str, found[:_SHOWN]))}"
    if count > _SHOWN:
        yield f"and {count - _SHOWN} events more"


def _blocks(data: bytes) -> list[str]:
    parser = EventParser()
    items = parser.feed(data) + parser.end()
    return [text_of(item.raw) for item in items if isinstance(item, Event)]
