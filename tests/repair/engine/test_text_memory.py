"""The memory of a text saves time: with and without it every byte leaves the same."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.stream_state import Asked, Seen
from llm_normalize.fixes import FIXES
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream
from llm_normalize.protocols.protocol import ClientProtocol
from llm_normalize.repair.engine import fix_chain
from llm_normalize.repair.engine.output import Output
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.engine.text_memory import Around, TextMemory
from llm_normalize.repair.engine.translated_output import TranslatedOutput
from llm_normalize.repair.fix import DONE, Fix, calling, chunk, head, rest, wire
from llm_normalize.repair.look import Finding, look
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire import sse
from llm_normalize.wire.json_text import dumps
from llm_normalize.wire.sse import encode
from properties import test_recorded as recorded
from streams import ANY

STREAM = Asked(stream=True)
REQUEST: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [], "input": ""}
CAPTURES = sorted(Path(__file__).parents[2].glob("captures/*/*/response.sse"))
assert CAPTURES

HEAD = chunk({"role": "assistant", "content": ""})
WORDS = ("It", " is", " tea", ", no", " doubt", " at", " all")


class Outcome(NamedTuple):
    """What became of a stream, whichever way its events went."""

    out: list[bytes]
    changed: list[tuple[int, bytes | None, tuple[bytes, ...], tuple[str, ...]]]
    events: int
    unread: Counter[Any]


class Play:
    """One stream, and how many of its events were not parsed."""

    def __init__(
        self,
        asked: Asked = STREAM,
        fixes: Iterable[type[Fix]] = FIXES,
        protocol: ClientProtocol | None = None,
    ) -> None:
        self.steps: list[EventRecord] = []
        on_record = self.steps.append
        output: Callable[..., Output] = Output
        if protocol is not None:
            answer = protocol.translate(REQUEST).answer
            output = partial(TranslatedOutput, translate=AnswerStream(answer))
        self.pipeline = Pipeline(asked, [*fixes], on_record, make_output=output)
        self.parsed = 0
        event = self.pipeline.event_repair.event

        def count(*of: Any) -> None:
            self.parsed += 1
            event(*of)

        self.pipeline.event_repair.event = count  # type: ignore[method-assign,assignment]

    @property
    def known(self) -> Around | None:
        return self.pipeline._memory.known

    @property
    def fitted(self) -> int:
        return self.pipeline.events - self.parsed

    def feed(self, *reads: bytes) -> bytes:
        return b"".join(b"".join(self.pipeline.feed(read)) for read in reads)

    def say(self, *events: Chunk | bytes) -> bytes:
        """Feed *events*, one a read."""
        return self.feed(*(wire([each]) for each in events))

    def settle(self, event: Callable[[str], Chunk | bytes] | None = None) -> None:
        """Let the stream know what becomes of what *event* makes of a word."""
        make = event or text
        self.say(HEAD, *map(make, WORDS))
        self.say(make(" now"))
        assert self.known
        assert self.fitted


def text(word: str) -> Chunk:
    return chunk({"content": word})


def counting(word: str, count: int) -> Chunk:
    details = {"reasoning_tokens": count // 2}
    usage = {"prompt_tokens": 3, "completion_tokens": count, "details": details}
    return chunk({"role": None, "content": word}, usage=usage)


def nim(word: str) -> Chunk:
    return chunk({"role": None, "content": word}, choice={"stop_reason": None})


def outcome(reads: Iterable[bytes], *of: Any) -> Outcome:
    play = Play(*of)
    out = [b"".join(play.pipeline.feed(read)) for read in reads]
    out.append(b"".join(play.pipeline.end()))
    changed = [
        (step.n, step.before, tuple(step.after), tuple(step.fixes))
        for step in play.steps
        if step.changed
    ]
    return Outcome(out, changed, play.pipeline.events, play.pipeline.raw_events)


@contextmanager
def every_event_parsed(*, by_look: bool = False) -> Iterator[None]:
    """Let no stream remember anything, and every fix be asked about every chunk.

    Args:
        by_look: Whether only those are asked that handle what is found in it.
    """

    def look_for_all(
        value: Chunk, asked: Asked, seen: Seen, *, is_changed: bool
    ) -> int:
        found = look(value, asked, seen, is_changed=is_changed)
        return found | ANY | (Finding.LEFT if is_changed else 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextMemory, "learn", lambda *_: None)
        if not by_look:
            patch.setattr(fix_chain, "look", look_for_all)
        yield


def assert_same(reads: list[bytes], *of: Any) -> None:
    """Compare all ways of *reads*, in a `Play` of these arguments."""
    known = outcome(reads, *of)
    for by_look in (False, True):
        with every_event_parsed(by_look=by_look):
            assert outcome(reads, *of) == known


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


ASKS = (
    STREAM,
    Asked(stream=True, usage=True, tools=True),
    Asked(stream=True, strict=True, n=2),
)


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_capture_leaves_the_same_with_and_without(path: Path) -> None:
    data = path.read_bytes()
    for asked in ASKS:
        assert_same([data], asked)
    for protocol in PROTOCOLS:
        assert_same(pieces(data, 97), STREAM, FIXES, protocol)


@pytest.mark.unmeasured
@pytest.mark.skipif(not recorded.ENTRIES, reason="no recorded answers")
@pytest.mark.parametrize("entry", recorded.select(stream=True))
def test_recorded_stream_leaves_the_same_with_and_without(
    entry: dict[str, Any],
) -> None:
    data, asked = recorded.data_of(entry), recorded.asked_of(entry)
    assert_same(pieces(data, 89), replace(asked, usage=not asked.usage))
    for protocol in PROTOCOLS:
        assert_same([data], asked, FIXES, protocol)


FILTERED = chunk(None, prompt_filter_results=[{"prompt_index": 0}])
"""A chunk without choices, whose field the next one brings."""
SAID = st.sampled_from(
    [
        *(
            "a",
            " b",
            '"',
            "\\",
            "\n",
            "é",
            "\u2028",
            "\ud83d",
            "😀",
            "null",
            " ",
            "{[",
            "-0",
        ),
        *("growing", "growing and", "growing and growing", "growing and growing on"),
        *("", "\x7f", "/", "input", "content", '","reasoning":"'),
    ]
)
SPELLED = st.sampled_from([True, False])


@st.composite
def deltas_of(draw: st.DrawFn) -> Chunk:
    word = draw(SAID)
    return draw(
        st.sampled_from(
            [
                chunk({"content": word}),
                chunk({"content": word, "role": "assistant"}),
                chunk({"role": None, "content": word}),
                chunk({"content": word}, index=1),
                chunk({"reasoning_content": word}),
                chunk({"reasoning": word, "reasoning_details": [{"text": word}]}),
                chunk({"reasoning": word, "content": draw(SAID)}),
                chunk({"content": word}, obfuscation=draw(SAID)),
                chunk(None, choices=[{"index": 0, "text": word}]),
                FILTERED,
                chunk({"content": word}, created=draw(st.integers(1, 3))),
                chunk({"content": word}, choice={"message": {"content": word}}),
                chunk({"content": word}, finish=draw(st.sampled_from(["", "stop"]))),
                counting(word, draw(st.integers(0, 3))),
                calling(rest(0, word)),
                calling(rest(1, word)),
                calling(head(0, word)),
                calling({**rest(0, word), "id": None, "type": "function"}),
                chunk({"content": word, "tool_calls": [rest(0, word)]}),
                chunk({}, finish="tool_calls"),
            ]
        )
    )


@st.composite
def settled_streams(draw: st.DrawFn) -> list[bytes]:
    """Return the events of a stream that says the same kinds of things for long."""
    kinds = draw(st.lists(deltas_of(), min_size=1, max_size=3))
    events = [wire([HEAD])] if draw(st.booleans()) else []
    spaced, ascii_only = draw(SPELLED), draw(SPELLED)
    for _ in range(draw(st.integers(4, 25))):
        event = dict(draw(st.sampled_from(kinds)) if draw(st.booleans()) else kinds[0])
        spelled = json.dumps(event, ensure_ascii=ascii_only).encode(
            errors="backslashreplace"
        )
        raw = spelled if spaced else dumps(event)
        word = json.dumps(draw(SAID), ensure_ascii=ascii_only).encode(
            errors="backslashreplace"
        )
        if draw(st.booleans()):
            raw = raw.replace(b'"content": "', b'"content": ' + word[:-1], 1)
            raw = raw.replace(b'"content":"', b'"content":' + word[:-1], 1)
        if draw(st.booleans()):
            figures = b'"completion_tokens":%d' % draw(
                st.sampled_from([0, 1, 7, 3, 12])
            )
            raw = re.sub(rb'"completion_tokens": ?\d', figures, raw)
        events.append(encode(raw))
        if draw(st.integers(0, 9)) == 0:
            odd = [
                b": ping\n\n",
                b"\n",
                b"data: \xff\n\n",
                b"data:{}\n\n",
                DONE,
                b"\r\n",
                b"data: {}\r\n\r\n",
            ]
            events.append(draw(st.sampled_from(odd)))
    return events


@given(settled_streams(), st.sampled_from(ASKS), st.integers(0, 2))
def test_settled_stream_leaves_the_same_with_and_without(
    events: list[bytes], asked: Asked, cut: int
) -> None:
    data = b"".join(events)
    assert_same([events, [data], pieces(data, 31)][cut], asked)


@given(settled_streams(), st.integers(0, 2), st.sampled_from(PROTOCOLS))
def test_translated_stream_leaves_the_same_with_and_without(
    events: list[bytes], cut: int, protocol: ClientProtocol
) -> None:
    data = b"".join(events)
    reads = [events, [data], pieces(data, 31)][cut]
    assert_same(reads, STREAM, FIXES, protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.name)
def test_settled_stream_is_translated_unread(protocol: ClientProtocol) -> None:
    play = Play(protocol=protocol)
    play.settle(nim)
    play.steps.clear()
    before, parsed = wire([nim(" a")]), play.parsed
    after = play.feed(before)
    assert b'" a"' in after
    assert play.parsed == parsed
    (step,) = play.steps
    assert (step.before, step.after, step.fixes[-1]) == (before, [after], "translated")


# -- what is learned, and when it holds ------------------------------------------------


@pytest.mark.parametrize(
    "events",
    [
        [HEAD, FILTERED, text("It"), text(" is")],
        [HEAD, *(chunk(None, choices=[{"text": each}]) for each in ("content", "so"))],
    ],
    ids=("held field", "text that is a key"),
)
def test_event_that_only_seems_to_be_a_text_alone_teaches_nothing(
    events: list[Chunk],
) -> None:
    assert_same([wire([each]) for each in events])


def test_known_event_is_repaired_and_recorded_as_before() -> None:
    play = Play()
    play.settle(nim)
    steps, fitted = len(play.steps), play.fitted
    assert play.say(nim(' "no"\n')) == wire([text(' "no"\n')])
    assert play.fitted == fitted + 1
    (step,) = play.steps[steps:]
    assert (step.n, step.before) == (len(WORDS) + 2, wire([nim(' "no"\n')]))
    assert (step.after, step.fixes) == (
        [wire([text(' "no"\n')])],
        ["role-null", "field-null"],
    )


@pytest.mark.parametrize(
    "said",
    [
        b'"content":""',  # a text that is none
        b'"content":null',
        b'"content":"a","role":"b"',  # a quote ends the text
        b'"content":"a\\"',  # it does not end
        b'"content":"a\nb"',  # no JSON
        b'"content":"\x01"',
        b'"content":"\\x"',
        b'"content":"\\u12"',
        b'"content":"\xff"',  # no UTF-8
        b'"content":"\xed\xa0\x80"',
    ],
)
def test_event_of_another_shape_is_parsed(said: bytes) -> None:
    play = Play()
    play.settle()
    fitted = play.fitted
    event = wire([text("TEXT")]).replace(b'"content":"TEXT"', said)
    play.feed(event)
    assert play.fitted == fitted


def test_text_behind_the_first_is_left_unread() -> None:
    play = Play()
    play.say(HEAD, *map(text, WORDS))
    assert play.parsed == 2


NEXT: dict[str, Callable[[str], str]] = {
    "grows": lambda last: last + " and a leaf of tea",
    "stays": lambda last: last,
    "is another": lambda last: f"{len(last)} cups",
}
"""What becomes of a text from one delta to the next."""


GROWING: dict[str, Callable[[str], Chunk]] = {
    "content": text,
    "reasoning_content": lambda word: chunk({"reasoning_content": word}),
    "reasoning_details": lambda word: chunk({"reasoning_details": [{"text": word}]}),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("first", NEXT)
def test_text_that_may_grow_leaves_the_same_with_and_without(
    name: str, first: str
) -> None:
    make = GROWING[name]
    # Proof takes four, doubt two; one code reads all three, so that one has every case.
    count = 5 if name == "content" else 3
    for more in itertools.product(NEXT, repeat=count):
        texts = ["Tea"]
        for change in (first, *more):
            texts.append(NEXT[change](texts[-1]))
        assert_same([wire([HEAD]), *(wire([make(each)]) for each in texts)])


def test_event_behind_half_of_another_is_no_event() -> None:
    settled = [wire([each]) for each in (HEAD, *map(text, WORDS))]
    half = wire([chunk({"content": " b"}, more="c")])[:-6]
    assert_same([*settled, half, wire([text(" a")]), wire([text(" b")])])


@pytest.mark.parametrize("size", [20_000, sse.LIMIT])
def test_nothing_is_known_behind_a_large_event(size: int) -> None:
    play = Play()
    play.settle()
    play.say(text("x" * size))
    assert not play.known
