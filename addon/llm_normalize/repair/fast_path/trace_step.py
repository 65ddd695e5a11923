"""Builds a trace step from one event processed on the slow path."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...chat.chunks.chunk import Chunk, Tokens, calls, choices, deltas, index_of
from ...wire.sse import Event
from ..outcome import EventRecord
from .template import Template, first_equal_index, read
from .template_candidate import are_same, chunk_in, free_values
from .trace import (
    COUNT_KIND,
    MAX_EVENT_BYTES,
    TEXT_KIND,
    FinishedRecord,
    Parts,
    Step,
    TemplateShape,
    begins_with,
    holes,
    overlap,
)

_FREE = ("text", "count")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an event on the slow path.

    Attributes:
        sent: What was sent for it.
        closed: The records that were complete then.
        verbatim: See `Output`.
        waits: Whether something waits.
        tokens: The stream's figures.
        known: The templates that hold.
    """

    sent: bytes
    closed: Sequence[EventRecord]
    verbatim: bool
    waits: bool
    tokens: Tokens
    known: Sequence[Template]


@dataclass(slots=True)
class StreamValues:
    """The values of one stream so far.

    Attributes:
        values: What only this stream has: its id, and the like.
        last: The last text, by choice and key.
        events: The events of all steps so far.
        tokens: Its figures.
    """

    values: list[bytes]
    last: dict[tuple[int, str], bytes]
    events: list[Event]
    tokens: Tokens = (None, None)

    def grows(
        self, keys: Iterable[tuple[int, tuple[int, str]]], texts: Sequence[bytes]
    ) -> bool:
        """Tell whether any of *texts* begins with the last one of its choice.

        Fixes may still read their words then.

        Args:
            keys: Which of the texts are not counts, and (choice, key) of each.
            texts: The texts.
        """
        for at, key in keys:
            for (index, _), last in self.last.items():
                if index == key[0] and begins_with(texts[at], last):
                    return True
        return False


def step_of(
    event: Event, result: Result, so_far: StreamValues
) -> tuple[Step, list[bytes], list[bytes]]:
    """Return the step of an event, the stream's values, and what varies in it beside.

    Args:
        event: The event.
        result: What became of it.
        so_far: The values of the stream before the event.

    Raises:
        ValueError: What became of it depends on more than a step tells.
    """
    if len(event.raw) > MAX_EVENT_BYTES:
        raise ValueError("it is too long")
    received, found = holes(event.raw)
    chunk = chunk_in(event.raw)
    index = _choice_in(chunk)
    values, texts = list(so_far.values), list[bytes]()
    kinds, names, keys = list[int](), list[str](), list[tuple[int, str] | None]()
    for kind, key, value in found:
        if kind in _FREE:
            kinds.append(TEXT_KIND if kind == "text" else COUNT_KIND)
            keys.append((index, key) if kind == "text" else None)
            texts.append(value)
            continue
        if value not in values:
            values.append(value)
        kinds.append(values.index(value))
        names.append(kind)
    _require_free(chunk, keys, texts, is_same=result.sent == event.raw)
    keyed = [(at, key) for at, key in enumerate(keys) if key is not None]
    if so_far.grows(keyed, texts):
        raise ValueError("its words decide")
    step = Step(
        tuple(received),
        tuple(kinds),
        tuple(names),
        first_equal_index(texts),
        tuple(keys),
        None if result.sent == event.raw else _parts(result.sent, values, texts),
        # Only its framing may be repaired.
        event.raw[event.raw.find(b"{") : event.raw.rfind(b"}") + 1] not in result.sent,
        tuple(
            _closed(each, event, so_far.events, values, texts) for each in result.closed
        ),
        result.verbatim,
        result.waits,
        _tokens(result.tokens, so_far.tokens, keys, texts),
        tuple(TemplateShape.of(each, values) for each in result.known),
    )
    return step, values, texts


def _choice_in(chunk: Chunk) -> int:
    """Return the index of the choice of *chunk*, which must be the only one."""
    found = choices(chunk)
    if len(found) > 1 or any(calls(delta) for _, _, delta in deltas(chunk)):
        raise ValueError("what it says is looked up later")
    return index_of(found[0]) if found else 0


def _require_free(
    chunk: Chunk,
    keys: Sequence[tuple[int, str] | None],
    texts: Sequence[bytes],
    *,
    is_same: bool,
) -> None:
    """Raise ValueError if the words of *texts* may decide."""
    read_texts = [
        read(text) if key is not None else int(text)
        for key, text in zip(keys, texts, strict=True)
    ]
    free = [value for _, value in free_values(chunk)]
    if not are_same(read_texts, free) or first_equal_index(
        read_texts
    ) != first_equal_index(texts):
        raise ValueError("one stands where its words may count")
    if not is_same and any(b"\\" in each for each in texts):
        raise ValueError("one is spelled anew")
    if overlap(
        {text for key, text in zip(keys, texts, strict=True) if key is not None}
    ):
        raise ValueError("one may tell another again")


def _parts(data: bytes, values: Sequence[bytes], texts: Sequence[bytes]) -> Parts:
    """Return *data* with the numbers of what varies; ValueError if that is not all."""
    around, found = holes(data)
    parts: list[bytes | int] = [around[0]]
    for (kind, _, value), then in zip(found, around[1:], strict=True):
        is_text = kind in _FREE
        parts += [texts.index(value) if is_text else ~values.index(value), then]
    return tuple(parts)


def _closed(
    record: EventRecord,
    event: Event,
    events: Sequence[Event],
    values: Sequence[bytes],
    texts: Sequence[bytes],
) -> FinishedRecord:
    back = None
    if record.before is not None:
        received = [(each.n, each.raw) for each in (event, *reversed(events))]
        back = received.index((record.n, record.before))
        if back and any(kind in _FREE for kind, _, _ in holes(record.before)[1]):
            raise ValueError("the held event has values that this one lacks")
    after = tuple(_parts(each, values, texts) for each in record.after)
    fixes = tuple(record.fixes)
    return FinishedRecord(back, record.n - event.n, after, fixes, record.moved)


def _tokens(
    tokens: Tokens,
    before: Tokens,
    keys: Sequence[tuple[int, str] | None],
    texts: Sequence[bytes],
) -> tuple[int | None, int | None] | None:
    """Return which texts are the figures of the stream, or None if an event has none."""
    if all(keys) and tokens == before:
        return None
    counts = [
        None if key is not None else text for key, text in zip(keys, texts, strict=True)
    ]
    prompt, completion = (
        None if each is None else counts.index(b"%d" % each) for each in tokens
    )
    return prompt, completion
