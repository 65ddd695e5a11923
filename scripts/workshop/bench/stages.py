"""What the benchmark can time in this process: each stage, and each fix alone."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from llm_normalize.chat.stream_state import Asked, Seen
from llm_normalize.exchange.answer.answer_record import AnswerRecord
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream
from llm_normalize.protocols.protocol import ClientProtocol
from llm_normalize.records.record_line import line
from llm_normalize.records.snapshot import Snapshot
from llm_normalize.repair.fix import Fix
from llm_normalize.repair.fix_chain import Chain
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.repair.output import Output
from llm_normalize.repair.pipeline import Pipeline
from llm_normalize.repair.translated_output import TranslatedOutput
from llm_normalize.wire.content_encoding import decoder_for
from llm_normalize.wire.json_text import dumps, loads
from llm_normalize.wire.sse import Event, EventParser, encode
from workshop.bench.layers import Layers
from workshop.bench.traffic import DONE, Kind, dialect, http_chunk

ASKED = Asked(stream=True, id="bench")
REQUEST: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [],
    "input": "",
}
"""What a client of another protocol asks, whichever it is."""
SETTLED = 400  # events: the text is known, and the view has all that it shows
SHORT = 8  # events with a text in a stream that never settles
TOGETHER = 200  # events in one read, about what mitmproxy reads at saturation

type Work = Callable[[], object]
"""What is timed; it does the same for each event of the round."""


class Row(NamedTuple):
    """One thing that is timed.

    Attributes:
        group: `stage` or `fix`.
        name: What it is.
        make: Given the events, returns what is timed, and for how many events.
    """

    group: str
    name: str
    make: Callable[[Kind, Sequence[bytes]], tuple[Work, int]]


def events_of(kind: Kind, count: int) -> list[bytes]:
    """Return the first *count* events with a text."""
    return [b"".join(event) for event in dialect(kind).events[:count]]


def _each(do: Callable[[Any], object], over: Sequence[Any]) -> tuple[Work, int]:
    def work() -> None:
        for each in over:
            do(each)

    return work, len(over)


def _payloads(events: Sequence[bytes]) -> list[bytes]:
    return [event[6:-2] for event in events]


# Stages


def _decoder(_: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
    decoder = decoder_for("")
    assert decoder is not None
    feed = decoder.feed
    return _each(lambda data: list(feed(data)), events)


def _parser(_: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
    return _each(EventParser().feed, events)


def _loads(_: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
    return _each(loads, _payloads(events))


def _dumps(_: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
    values = [loads(payload) for payload in _payloads(events)]
    return _each(lambda value: encode(dumps(value)), values)


def _chain(kind: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
    seen = Seen()
    seen.note(loads(dialect(kind).opening[6:-2]))
    chain = Chain(FIXES, ASKED, seen, "bench")
    parts = [
        (EventRecord(n + 1, raw), loads(raw[6:-2]), raw[6:-2], raw)
        for n, raw in enumerate(events)
    ]
    return _each(lambda part: list(chain.run(*part)), parts)


def _pipeline(
    fixes: Sequence[type[Fix]],
) -> Callable[[Kind, Sequence[bytes]], tuple[Work, int]]:
    def make(kind: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
        pipeline = Pipeline(ASKED, fixes)
        settle(pipeline.feed, kind)
        return _each(pipeline.feed, events)

    return make


def settle(feed: Callable[[bytes], object], kind: Kind) -> None:
    """Let a stream come past its opening and some events, which are not timed."""
    feed(dialect(kind).opening)
    for event in dialect(kind).events[-SETTLED:]:
        feed(b"".join(event))


def _unsettled(kind: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
    """Many short streams, each with all that a stream begins and ends with."""
    every = dialect(kind)
    streams = [
        [every.opening, *events[at : at + SHORT], every.finish, DONE]
        for at in range(0, len(events), SHORT)
    ]

    def work() -> None:
        for stream in streams:
            pipeline = Pipeline(ASKED, FIXES)
            for event in stream:
                pipeline.feed(event)
            pipeline.end()

    return work, sum(map(len, streams))


def rewriter(
    write: Callable[[Any], None] | None = None, protocol: ClientProtocol | None = None
) -> Rewriter:
    """Return what a stream passes that nobody looks at.

    Args:
        write: Takes the records of its log, if it has one.
        protocol: What its client speaks, if not chat.
    """
    name = None if protocol is None else protocol.name
    answer = AnswerRecord(
        "flow", "host", "/v1", "m", True, False, 1.0, write, shown=False, protocol=name
    )
    decoder = decoder_for("")
    assert decoder is not None
    output: Callable[..., Output] = Output
    if protocol is not None:
        stream = AnswerStream(protocol.translate(REQUEST, {}).answer)
        output = partial(TranslatedOutput, translate=stream)
    pipeline = Pipeline(ASKED, FIXES, answer.add_event, "bench", answer.count, output)
    return Rewriter(pipeline, decoder, snapshot=Snapshot(is_on=False))


def _whole(
    write: Callable[[Any], None] | None = None, protocol: ClientProtocol | None = None
) -> Callable[[Kind, Sequence[bytes]], tuple[Work, int]]:
    def make(kind: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
        made = rewriter(write, protocol)
        settle(made.read, kind)
        return _each(made.read, events)

    return make


def _log(kind: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
    entries: list[Any] = []
    made = rewriter(entries.append)
    settle(made.read, kind)
    entries.clear()
    for event in events:
        made.read(event)
    # A pair of an event that is not parsed is a tuple.
    pairs = [e for e in entries if isinstance(e, tuple) or e.record["type"] == "pair"]
    work, _ = _each(line, pairs)
    return work, len(events)  # a stream that needs nothing has none of them


def _layers(
    *, ours: bool, together: bool
) -> Callable[[Kind, Sequence[bytes]], tuple[Work, int]]:
    """Mitmproxy's layers, with us in them or not, an event a read or many."""

    def make(kind: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
        layers = Layers(rewriter().read if ours else True)
        settle(lambda event: layers.receive(http_chunk(event)), kind)
        layers.sent.clear()
        reads = [http_chunk(event) for event in events]
        if together:
            starts = range(0, len(reads), TOGETHER)
            reads = [b"".join(reads[at : at + TOGETHER]) for at in starts]
        return _each(layers.receive, reads)[0], len(events)

    return make


STAGES = (
    Row("stage", "decoder, nothing to undo", _decoder),
    Row("stage", "EventParser", _parser),
    Row("stage", "loads", _loads),
    Row("stage", "dumps and encode", _dumps),
    Row("stage", "Chain, all fixes", _chain),
    Row("stage", "Pipeline without fixes", _pipeline(())),
    Row("stage", "Pipeline, settled", _pipeline(FIXES)),
    Row("stage", f"Pipeline, streams of {SHORT + 3} events", _unsettled),
    Row("stage", "Rewriter, settled stream", _whole()),
    Row("stage", "Rewriter, the same with the log", _whole(lambda _: None)),
    *(
        Row("stage", f"Rewriter, translated to {each.name}", _whole(protocol=each))
        for each in PROTOCOLS
    ),
    Row("stage", "a line of the log, in its thread", _log),
    Row("layers", "an event a read", _layers(ours=False, together=False)),
    Row("layers", f"{TOGETHER} events a read", _layers(ours=False, together=True)),
    Row("layers", "an event a read, Rewriter", _layers(ours=True, together=False)),
    Row("layers", f"{TOGETHER} a read, Rewriter", _layers(ours=True, together=True)),
)


# Fixes


def fix_rows() -> Iterator[Row]:
    """Yield a row for each fix that looks at a chunk or at the framing of an event."""
    for fix in FIXES:
        chunkwise = fix.edit is not Fix.edit or fix.replace is not Fix.replace
        if chunkwise:
            yield Row("fix", fix.name, _fix(fix))
        elif fix.event is not Fix.event:
            yield Row("framing fix", fix.name, _framing(fix))


def _fix(kind: type[Fix]) -> Callable[[Kind, Sequence[bytes]], tuple[Work, int]]:
    def make(stream: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
        fix = _begun(kind, stream)
        edit = fix.edit if kind.edit is not Fix.edit else None
        replace = fix.replace if kind.replace is not Fix.replace else None
        chunks = [loads(payload) for payload in _payloads(events)]

        def both(chunk: Any) -> None:
            if edit is not None:
                edit(chunk)
            if replace is not None:
                replace(chunk)

        return _each(both if edit and replace else edit or replace or both, chunks)

    return make


def _framing(kind: type[Fix]) -> Callable[[Kind, Sequence[bytes]], tuple[Work, int]]:
    def make(stream: Kind, events: Sequence[bytes]) -> tuple[Work, int]:
        fix = _begun(kind, stream)
        parsed = [Event(raw, n + 1) for n, raw in enumerate(events)]
        return _each(fix.event, parsed)

    return make


def _begun(kind: type[Fix], stream: Kind) -> Fix:
    """Return a fix whose stream has begun."""
    seen = Seen()
    fix = kind(ASKED, seen)
    opening = loads(dialect(stream).opening[6:-2])
    fix.edit(opening)
    seen.note(opening)
    return fix
