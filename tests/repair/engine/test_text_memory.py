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
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.exchange.stream.native_stream import NativeStream
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.native_fixes import message_events as in_messages
from llm_normalize.native_fixes import response_events as in_responses
from llm_normalize.native_fixes.native_fix import wire as native_wire
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream
from llm_normalize.protocols.native_readers import native_reader
from llm_normalize.protocols.protocol import ClientProtocol
from llm_normalize.repair.engine import fix_chain
from llm_normalize.repair.engine.output import Output
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.engine.text_memory import Around, TextMemory
from llm_normalize.repair.engine.translated_output import TranslatedOutput
from llm_normalize.repair.fix import DONE, Fix, calling, chunk, head, rest, wire
from llm_normalize.repair.look import Finding, look
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire import limits
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


def assert_same(
    reads: list[bytes],
    asked: Asked = STREAM,
    fixes: Iterable[type[Fix]] = FIXES,
    protocol: ClientProtocol | None = None,
) -> None:
    """Compare all ways of *reads*; what is translated is what the client would get."""
    of = (asked, fixes, protocol)
    known = outcome(reads, *of)
    for by_look in (False, True) if protocol is None else (True,):
        with every_event_parsed(by_look=by_look):
            assert outcome(reads, *of) == known


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


ASKS = (
    STREAM,
    Asked(stream=True, usage=True, tools=True),
    Asked(stream=True, strict=True, n=2),
)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_capture_leaves_the_same_with_and_without(path: Path) -> None:
    data = path.read_bytes()
    for asked in ASKS:
        assert_same([data], asked)
    for protocol in PROTOCOLS:
        assert_same(pieces(data, 97), STREAM, FIXES, protocol)


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
        *("a", " b", '"', "\\", "\n", "é", "\u2028", "\ud83d", "😀"),
        *("null", " ", "{[", "-0", "}", '{"a":"', '"}'),
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
                chunk({"reasoning": word, "arguments": word}),
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
            for key in (b'"content":', b'"arguments":'):
                raw = raw.replace(key + b'"', key + word[:-1], 1)
                raw = raw.replace(key + b' "', key + b" " + word[:-1], 1)
        if draw(st.booleans()):
            figures = b'"completion_tokens":%d' % draw(
                st.sampled_from([0, 1, 7, 3, 12])
            )
            raw = re.sub(rb'"completion_tokens": ?\d', figures, raw)
        events.append(encode(raw))
        if draw(st.integers(0, 9)) == 0:
            odd = [b": ping\n\n", b"\n", b"data: \xff\n\n", b"data:{}\n\n", DONE]
            odd += [b"\r\n", b"data: {}\r\n\r\n"]
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


# -- the provider's own protocol -------------------------------------------------------


class Native(NamedTuple):
    """What became of a stream in its client's own protocol, and what was parsed of it."""

    outcome: Outcome
    parsed: int


def native_outcome(protocol: str, reads: Iterable[bytes]) -> Native:
    steps, parsed = list[EventRecord](), 0
    stream = NativeStream(native_reader(protocol, REQUEST, "x"), steps.append, "x")
    event = stream._event

    def count(*of: Any) -> None:
        nonlocal parsed
        parsed += 1
        event(*of)

    stream._event = count  # type: ignore[method-assign,assignment]
    out = [b"".join(stream.feed(read)) for read in reads]
    out.append(b"".join(stream.end()))
    changed = [(x.n, x.before, (*x.after,), (*x.fixes,)) for x in steps if x.changed]
    return Native(Outcome(out, changed, stream.events, stream.raw_events), parsed)


def assert_native_same(protocol: str, reads: list[bytes]) -> Native:
    known = native_outcome(protocol, reads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextMemory, "follow", lambda *_: None)
        assert native_outcome(protocol, reads).outcome == known.outcome
    return known


RESPONSE_ENDS = [
    in_responses.event("completed", 9, response=in_responses.response("completed")),
    in_responses.end(9),
]
"""Of which the first says what has been said, and counts it: it has no figures."""
RESPONSE_ENDS[0]["response"]["usage"] = None


@st.composite
def response_deltas(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return the deltas of a response: of one kind mostly, and numbered in one way."""
    begins = {
        "text": [in_responses.added(2, in_responses.message())],
        "call": [in_responses.added(2, in_responses.call())],
        "none": [],
    }
    events = [*in_responses.begin(), *begins[draw(st.sampled_from([*begins]))]]
    makes: list[Callable[[str], Any]] = [
        lambda word: in_responses.in_part("output_text.delta", 0, delta=word),
        lambda word: in_responses.in_part(
            "output_text.delta", 0, delta=word, logprobs=draw(LOGPROBS)
        ),
        lambda word: in_responses.in_part("refusal.delta", 0, delta=word),
        lambda word: in_responses.of_call("delta", 0, delta=word),
        lambda word: in_responses.in_part("reasoning_text.delta", 0, delta=word),
        lambda word: {**in_responses.of_call("delta", 0), "delta": {"a": word}},
    ]
    kinds = draw(st.lists(st.sampled_from(makes), min_size=1, max_size=2))
    step, more = draw(st.sampled_from([0, 1, 1, 1, 2])), draw(st.booleans())
    first = draw(st.sampled_from([len(events), 0, 98]))
    for at in range(draw(st.integers(3, 14))):
        other = draw(st.integers(0, 5)) == 0
        event = kinds[-1 if other else 0](draw(SAID))
        event["sequence_number"] = first + at * step + (draw(st.integers(0, 9)) == 0)
        if draw(st.integers(0, 9)) == 0:
            event |= draw(st.sampled_from(ODD))
        if more:
            event["sequence_number"], event["more"] = event.pop("sequence_number"), 1
        if step == 2:
            del event["sequence_number"]
        events.append(event)
    return [*events, draw(st.sampled_from(RESPONSE_ENDS))]


LOGPROBS = st.sampled_from([[], [], [{"token": "a", "logprob": -1, "bytes": []}], None])
ODD: list[dict[str, Any]] = [
    {"item_id": "other"},
    {"output_index": 1},
    {"model": "other"},
    {"part": {"sequence_number": 4}},
    {"type": "response.output_text.done", "text": "a"},
    {"type": "response.reasoning.delta"},
]


@st.composite
def message_deltas(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return the events of a message: deltas of one kind mostly."""
    block = draw(st.sampled_from(["text", "thinking", "tool_use"]))
    events = [in_messages.start(), in_messages.block(block)]
    kinds = ["text_delta", "thinking_delta", "input_json_delta"]
    usual = dict(zip(["text", "thinking", "tool_use"], kinds, strict=True))[block]
    others = [usual] * 8 + kinds
    for _ in range(draw(st.integers(3, 14))):
        index = draw(st.sampled_from([0] * 8 + [1]))
        kind = draw(st.sampled_from(others))
        word = draw(SAID if usual != kinds[-1] else st.sampled_from([*'{}"', "a"]))
        events.append(in_messages.delta(kind, word, index))
        if draw(st.integers(0, 9)) == 0:
            more = [in_messages.stop(), in_messages.block("tool_use", 1), {"type": "x"}]
            events.append(draw(st.sampled_from(more)))
    return [*events, in_messages.end("stop", usage={}), in_messages.STOP]


@given(
    st.one_of(
        st.tuples(st.just("responses"), response_deltas()),
        st.tuples(st.just("messages"), message_deltas()),
    ),
    SPELLED,
    SPELLED,
    SPELLED,
    st.integers(0, 2),
)
def test_native_stream_leaves_the_same_with_and_without(
    stream: tuple[str, list[dict[str, Any]]],
    spaced: bool,
    ascii_only: bool,
    named: bool,
    cut: int,
) -> None:
    protocol, events = stream
    separators = (", ", ": ") if spaced else (",", ":")
    raw = [
        json.dumps(each, ensure_ascii=ascii_only, separators=separators).encode(
            errors="backslashreplace"
        )
        for each in events
    ]
    names = [
        b"event: %b\n" % each["type"].encode() if named else b"" for each in events
    ]
    said = [
        b"%bdata: %b\n\n" % (name, data) for name, data in zip(names, raw, strict=True)
    ]
    data = b"".join(said)
    assert_native_same(protocol, [said, [data], pieces(data, 31)][cut])


NATIVE: dict[str, tuple[str, list[Any], Callable[[str, int], Any]]] = {
    "text": (
        "responses",
        [*in_responses.begin(), in_responses.added(2, in_responses.message())],
        lambda word, n: in_responses.in_part(
            "output_text.delta", n, delta=word, logprobs=[]
        ),
    ),
    "text without its number": (
        "responses",
        [*in_responses.begin(), in_responses.added(2, in_responses.message())],
        lambda word, n: in_responses.without(
            in_responses.in_part("output_text.delta", n, delta=word), "sequence_number"
        ),
    ),
    "thoughts": (
        "responses",
        in_responses.begin(),
        lambda word, n: in_responses.event(
            "reasoning_summary_text.delta", n, item_id="rs", output_index=0, delta=word
        ),
    ),
    "arguments": (
        "responses",
        [*in_responses.begin(), in_responses.added(2, in_responses.call())],
        lambda word, n: in_responses.of_call("delta", n, delta=word),
    ),
    "text of a message": (
        "messages",
        [in_messages.start(), in_messages.block("text")],
        lambda word, _: in_messages.delta("text_delta", word),
    ),
    "thinking": (
        "messages",
        [in_messages.start(), in_messages.block("thinking", 1)],
        lambda word, _: in_messages.delta("thinking_delta", word),
    ),
    "input": (
        "messages",
        [in_messages.start(), in_messages.block("tool_use")],
        lambda word, _: in_messages.delta("input_json_delta", word),
    ),
}


@pytest.mark.parametrize("name", NATIVE)
def test_native_words_are_left_unread(name: str) -> None:
    protocol, begin, make = NATIVE[name]
    words = [*WORDS, ' "no"\n', "\\", " é☃"]
    deltas = [make(word, 3 + at) for at, word in enumerate(words)]
    found = assert_native_same(protocol, [native_wire([*begin, *deltas])])
    assert found.parsed <= len(begin) + 2


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


@pytest.mark.parametrize("more", [{}, {"id": "", "type": None}])
def test_arguments_are_left_unread_until_they_are_whole(more: Chunk) -> None:
    said = ('{"a', '": "b', " c", ' d"', " ", "}", '{"a": "b c d" }')
    calls = [head(0, ""), *({**rest(0, each), **more} for each in said), head(1, "{}")]
    events = [wire([each]) for each in (HEAD, *map(calling, calls))]
    assert_same(events)
    play = Play()
    play.feed(*events)
    assert play.fitted == 4


def test_text_that_two_fixes_read_counts_once() -> None:
    tools = {"tools": [{"type": "function", "function": {"name": "f"}}]}
    asked = Asked.from_body(json.dumps({**REQUEST, **tools, "stream": True}).encode())
    said = ("Well", "Tea ", "Tea comes ", "Tea comes from Asia", "Tea comes from Asia.")
    events = [HEAD, *map(text, said)]
    assert_same([wire([each]) for each in events], asked, EVERY_FIX)


def test_reasoning_and_text_that_are_the_same_are_both_stored() -> None:
    fixes = [each for each in FIXES if each.name != "reasoning-with-content"]
    play = Play(STREAM, fixes)
    play.say(HEAD, chunk({"reasoning_content": "So"}))
    play.say(*(chunk({"content": each, "reasoning_content": each}) for each in WORDS))
    play.say(chunk({}, finish="stop"), DONE)
    said = play.pipeline.said
    assert said is not None
    assert (said.text, said.reasoning) == ("".join(WORDS), "".join(("So", *WORDS)))


def test_reasoning_under_three_names_is_left_unread() -> None:
    def thought(word: str) -> bytes:
        details = [{"type": "reasoning.text", "text": word, "index": 0}]
        delta = {"content": "", "reasoning": word, "reasoning_details": details}
        return encode(json.dumps(chunk(delta)).encode())

    play = Play()
    play.say(HEAD, *map(thought, WORDS))
    assert play.fitted == len(WORDS) - 2


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


@pytest.mark.parametrize("size", [20_000, limits.MAX_EVENT])
def test_nothing_is_known_behind_a_large_event(size: int) -> None:
    play = Play()
    play.settle()
    play.say(text("x" * size))
    assert not play.known
