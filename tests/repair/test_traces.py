"""Streams of one tree share what they learned: every byte leaves as without that."""

import gc
import itertools
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.extra_fields import MAX_EXTRA_BYTES
from llm_normalize.chat.stream_state import Asked
from llm_normalize.exchange.stream.stream_rewriter import Rewriter, Turn
from llm_normalize.fixes import FIXES
from llm_normalize.fixes.optional.think_as_text import ThinkAsText
from llm_normalize.repair.fast_path import stream_trace, trace
from llm_normalize.repair.fast_path.stream_trace import StreamTrace
from llm_normalize.repair.fast_path.trace import (
    Edge,
    Form,
    TemplateForm,
    Traces,
    TraceTree,
    holes,
)
from llm_normalize.repair.fast_path.trace_step import StreamValues
from llm_normalize.repair.fix import DONE, calling, chunk, head, rest, wire
from llm_normalize.repair.fix_chain import Chain
from llm_normalize.repair.non_sse_stream import NonSseStream
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.repair.output import Output
from llm_normalize.repair.slow_path import SlowPath
from llm_normalize.wire.content_encoding import Decoder
from llm_normalize.wire.json_text import dumps
from llm_normalize.wire.sse import Event, encode
from properties import test_recorded as recorded

STREAM = Asked(stream=True)
CAPTURES = sorted(Path(__file__).parents[1].glob("captures/*/*/response.sse"))
ON = tuple(fix for fix in FIXES if not fix.optional)
_LETTER = re.compile(rb"\\u[0-9a-fA-F]{4}|\\.|[A-Za-z]")


class Play:
    """One stream of a tree, or of none."""

    def __init__(
        self, tree: TraceTree | None, asked: Asked = STREAM, fixes: Any = ON
    ) -> None:
        self.records: list[EventRecord] = []
        self.counted: list[Any] = []
        self.long = 0
        """How many events took the slow path when they arrived."""
        self.pipeline = NonSseStream(
            asked, fixes, self.records.append, "label", self._count, traces=tree
        )
        self._repair = self.pipeline._repair
        self.pipeline._repair = self._count_repair  # type: ignore[method-assign]

    def _count(self, n: int, before: bytes, after: bytes, template: Any) -> bool:
        self.records.append(EventRecord(n, before, [after], list(template.fixes)))
        return True

    def _count_repair(self, event: Event) -> None:
        self.long += 1
        self._repair(event)

    def read(self, data: bytes) -> bytes:
        """Return what is sent for one read; `b""` is the end."""
        quick = self.pipeline.patcher.patch_event(data, may_wait=True) if data else None
        if quick is not None:
            return quick
        out = self.pipeline.feed(data) if data else self.pipeline.end()
        return b"".join(out)

    def seen(self) -> tuple[Any, ...]:
        """Return what may be asked of it at any time."""
        pipeline = self.pipeline
        waits = pipeline.waiting is not None
        return waits, pipeline.holds, pipeline.events, pipeline.is_between

    def changed(self) -> list[Any]:
        return [
            (each.n, each.before, tuple(each.after), tuple(each.fixes), each.moved)
            for each in self.records
            if each.changed
        ]


def outcome(play: Play, reads: Iterable[bytes], *, paused: bool = False) -> Any:
    """Return what becomes of *reads*, and of each what may be seen."""
    steps, before = [], None
    for read in reads:
        sent, waiting = play.read(read), play.pipeline.waiting
        # What begins to wait has its time, and nothing else prolongs that.
        steps.append((sent, play.seen(), waiting is not None and waiting != before))
        before = waiting
        if paused and play.pipeline.waiting is not None:
            steps.append((b"".join(play.pipeline.release()), play.seen(), False))
    tokens = play.pipeline.tokens, play.pipeline.raw_events
    return steps, play.changed(), tokens, play.pipeline.abandon(), play.changed()


def varied(data: bytes, k: int) -> bytes:
    """Return *data* with another id, another time and other words."""
    around, found = holes(data)
    out = [around[0]]
    for (kind, _, value), then in zip(found, around[1:], strict=True):
        out += [_VARY[kind](value, k), then]
    return b"".join(out)


def _letters(text: bytes, k: int) -> bytes:
    def turn(match: re.Match[bytes]) -> bytes:
        if (letter := match.group())[:1] == b"\\":
            return letter
        begin = ord("a") if letter.islower() else ord("A")
        return bytes([begin + (letter[0] - begin + k) % 26])

    return _LETTER.sub(turn, text)


def _digits(text: bytes, k: int) -> bytes:
    return re.sub(rb"[0-9]", lambda digit: b"%d" % ((int(digit[0]) + k) % 10), text)


_VARY: dict[str, Callable[[bytes, int], bytes]] = {
    "text": _letters,
    "count": lambda count, k: b"%d" % (int(count) + k),
    "id": _digits,
    "created": lambda time, k: b"%d" % (int(time) + 1000 * k),
}


def events_of(data: bytes) -> list[bytes]:
    return [each for each in re.split(rb"(?<=\n\n)", data) if each]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def assert_same(data_: bytes, asked: Asked = STREAM, most: int = 6) -> None:
    """Compare streams like *data_* that share what they learn with such that do not.

    They break off, or are cut, at *most* places.
    """
    tree = TraceTree()

    def compare(k: int, reads: Callable[[bytes], list[bytes]], **how: Any) -> None:
        play, data = Play(tree, asked), reads(varied(data_, k))
        alone = Play(None, asked)
        assert outcome(play, data, **how) == outcome(alone, data, **how)

    def whole(data: bytes) -> list[bytes]:
        return [*events_of(data), b""]

    def broken_off(data: bytes, left: int) -> list[bytes]:
        return events_of(data)[:left]

    def in_parts(data: bytes, left: int) -> list[bytes]:
        return [*events_of(data)[:left], *cut(b"".join(events_of(data)[left:]), 9)]

    for k in range(3):
        compare(k, whole)
    compare(4, lambda data: [*cut(data, 61), b""])
    compare(5, whole, paused=True)
    count = len(events_of(data_))
    places = random.Random(data_).sample(range(count), min(count, most))
    for at, left in enumerate(places):
        compare(7 + at, partial(in_parts if at % 2 else broken_off, left=left))


@pytest.mark.unmeasured
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_capture_leaves_the_same_in_a_tree_and_alone(path: Path) -> None:
    assert_same(path.read_bytes())


@pytest.mark.unmeasured
@pytest.mark.skipif(not recorded.ENTRIES, reason="no recorded answers")
@pytest.mark.parametrize("entry", recorded.select(stream=True))
def test_recorded_stream_leaves_the_same_in_a_tree_and_alone(
    entry: dict[str, Any],
) -> None:
    assert_same(recorded.data_of(entry), recorded.asked_of(entry), most=2)


# -- which streams follow, and which do not --------------------------------------------

WORDS = [
    "It",
    "is",
    "tea",
    "no",
    "doubt",
    "at",
    "all",
    "they",
    "said",
    "while",
    "a",
    "small",
    "river",
    "sang",
    "along",
]


def good(word: str, **more: Any) -> Chunk:
    return chunk({"content": word}, **more)


def nim(word: str, **more: Any) -> Chunk:
    return chunk({"role": None, "content": word}, choice={"stop_reason": None}, **more)


def thinking(word: str, **more: Any) -> Chunk:
    return chunk({"reasoning": word, "content": None}, **more)


def own(k: int) -> dict[str, Any]:
    """Return what stream *k* has for itself."""
    return {"id": f"chatcmpl-{k:08d}", "created": 1700000000 + k}


def stream(
    k: int, make: Callable[..., Chunk] = good, words: int = 9, usage: bool = False
) -> list[bytes]:
    """Return the reads of stream *k*, each an event, and its end."""
    said = [f" {WORDS[(5 * k + at) % len(WORDS)]}{k}{at}" for at in range(words)]
    opening = chunk({"role": "assistant", "content": ""}, **own(k))
    events = [opening, *(make(word, **own(k)) for word in said)]
    events.append(chunk({}, finish="stop", **own(k)))
    if usage:
        counts = {"prompt_tokens": 50 + k, "completion_tokens": 9 + k}
        total = {"total_tokens": 59 + 2 * k}
        events.append(chunk(None, usage={**counts, **total}, **own(k)))
    return [*(wire([each]) for each in events), DONE, b""]


def taught(
    make: Callable[..., Chunk] = good, asked: Asked = STREAM, **how: Any
) -> TraceTree:
    """Return a tree that two streams have gone."""
    tree = TraceTree()
    for k in (1, 2):
        outcome(Play(tree, asked), stream(k, make, **how))
    return tree


def assert_alike(
    tree: TraceTree, reads: list[bytes], asked: Asked = STREAM, fixes: Any = ON
) -> int:
    """Compare a stream of *tree* with one alone; return how many events were read."""
    play = Play(tree, asked, fixes)
    assert outcome(play, reads) == outcome(Play(None, asked, fixes), reads)
    return play.long


@pytest.mark.parametrize("make", [good, nim, thinking])
@pytest.mark.parametrize("usage", [False, True])
def test_third_stream_of_a_tree_is_not_read_at_all(
    make: Callable[..., Chunk], usage: bool
) -> None:
    asked = Asked(stream=True, usage=usage)
    tree = TraceTree()
    long = [
        assert_alike(tree, stream(k, make, usage=usage), asked) for k in range(1, 6)
    ]
    assert min(long[:2]) > 5
    assert long[2:] == [0, 0, 0]


def test_figures_of_a_stream_that_is_not_read_are_known() -> None:
    asked = Asked(stream=True, usage=True)
    play = Play(taught(asked=asked, usage=True), asked)
    outcome(play, stream(7, usage=True))
    assert (play.long, play.pipeline.tokens) == (0, (57, 16))


def test_several_events_of_a_read_are_followed() -> None:
    tree = taught()
    *events, end = stream(3)
    assert assert_alike(tree, [b"".join(events), end]) == 0
    assert assert_alike(tree, [*cut(b"".join(stream(4)), 50), b""]) > 0  # in parts


def test_two_streams_that_say_the_same_prove_nothing() -> None:
    tree = TraceTree()
    for _ in range(5):
        assert assert_alike(tree, stream(1)) > 5
    assert_alike(tree, stream(2))
    assert assert_alike(tree, stream(3)) == 0


def test_text_that_begins_with_the_last_one_is_read() -> None:
    tree = taught()
    telling = [
        "Tea",
        "Tea is",
        "Tea is a",
        "Tea is a leaf of a bush",
        "Tea is a leaf of a bush.",
    ]
    reads = [wire([chunk({"role": "assistant", "content": ""}, **own(9))])]
    reads += [wire([good(text, **own(9))]) for text in telling]
    assert assert_alike(tree, [*reads, DONE, b""]) > 0
    escaped = [wire([good(text, **own(8))]) for text in ('"', '"\n', "\n", "\n\n")]
    assert assert_alike(tree, [reads[0].replace(b"9", b"8"), *escaped, DONE, b""]) > 0
    assert assert_alike(tree, stream(3)) == 0


def test_values_of_a_stream_have_to_stay_what_they_are() -> None:
    tree = taught()
    changing = stream(3)
    changing[2] = changing[2].replace(b"00000003", b"00000004")
    assert assert_alike(tree, changing) > 0
    alike = [each.replace(b"chatcmpl-00000003", b"1700000003") for each in stream(3)]
    assert assert_alike(tree, alike) > 0


@pytest.mark.parametrize(
    "said",
    [
        b'"content":" \xff"',  # no UTF-8
        b'"content":" \xed\xa0\x80"',
        b'"content":""',
        b'"content":null',
        b'"content":" a","role":"b"',
        b'"content":" a\\"',
        b'"content":" \\u00e9\\/"',
        b'"content":" a","content":" b"',
        '"content":" \u2028é😀"'.encode(),
    ],
)
@pytest.mark.parametrize("make", [good, nim])
def test_event_of_another_form_is_read(said: bytes, make: Callable[..., Chunk]) -> None:
    tree = taught(make)
    reads = stream(3, make)
    for at in (1, 2, 3, 7):
        other = [*reads]
        other[at] = re.sub(rb'"content":"[^"]*"', lambda _: said, reads[at])
        assert_alike(tree, other)


def test_text_that_begins_with_another_of_its_event_is_read() -> None:
    def both(word: str, **more: Any) -> Chunk:
        return chunk({"reasoning_content": f"so{word}", "content": word}, **more)

    def alike(word: str, **more: Any) -> Chunk:
        return chunk({"reasoning_content": word, "content": f"{word}!"}, **more)

    for make in (both, alike):
        tree = TraceTree()
        for k in range(1, 5):
            assert_alike(tree, stream(k, make))
        assert_alike(tree, stream(5, both))
        assert_alike(tree, stream(6, alike))


def test_event_that_is_added_is_added_to_the_next_stream_too() -> None:
    tree = TraceTree()
    for k in range(1, 5):
        reads = [each for each in stream(k) if b'"stop"' not in each]
        long = assert_alike(tree, reads)
    assert long == 0


def test_text_that_is_spelled_anew_is_followed() -> None:
    tree = taught(nim)
    reads = stream(3, nim)
    for at in (2, 3):
        reads[at] = reads[at].replace(b'"content":" ', b'"content":" \\u00e9\\/\\n')
    assert assert_alike(tree, reads) == 0
    tree = TraceTree()
    for k in range(1, 5):  # nobody can tell that of the first ones
        reads[2] = reads[2].replace(b"\\n", b"\\n" * k)
        assert assert_alike(tree, reads) > 0


def test_text_that_is_sent_behind_another_event_keeps_its_spelling() -> None:
    def of_both(k: int, text: str) -> list[bytes]:
        *reads, done, end = stream(k)
        other = chunk({"role": "assistant", "content": f"{text}{k}"}, index=1, **own(k))
        return [*reads, wire([other]), done, end]

    tree = TraceTree()
    for k in range(1, 4):
        long = assert_alike(tree, of_both(k, " so"))
    assert long == 0
    assert assert_alike(tree, of_both(4, ' "so"')) > 0


def test_stream_whose_own_time_stands_elsewhere_too_is_read() -> None:
    created = own(3)["created"]

    def quoted(text: str, **more: Any) -> Chunk:
        return good(text, **(more | {"created": str(created)}))

    # Both of the others say another time in their first event than in those behind it.
    assert assert_alike(taught(quoted), stream(3, quoted)) > 1


def _timed(k: int, time: int) -> list[bytes]:
    """Return a stream that names its time in its choices alone."""
    said = [{"role": "assistant", "content": ""}, {"content": f"w{k}"}]
    bare = {"id": f"chatcmpl-{k:08d}", "created": None}
    opening, text = (chunk(each, **bare, choice={"created": time}) for each in said)
    return [
        wire([opening]),
        wire([text]),
        wire([chunk({}, finish="stop", **bare)]),
        DONE,
    ]


def _counted(k: int, prompt: int, completion: int, billed: int) -> list[bytes]:
    """Return a stream whose usage has no total."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    counts = chunk(None, usage={**usage, "billed_tokens": billed}, **own(k))
    return [*stream(k)[:-2], wire([counts]), DONE, b""]


def _padded(k: int, one: str, two: str) -> list[bytes]:
    """Return a stream of choice 1 whose finish waits for its usage, both with padding."""
    said = [{"role": "assistant", "content": ""}, {"content": f"w{k}"}]
    chunks = [chunk(each, index=1, **own(k)) for each in said]
    chunks.append(chunk({}, finish="stop", index=1, obfuscation=one, **own(k)))
    counts = dict.fromkeys(("prompt_tokens", "completion_tokens"), 7 + k)
    usage = {**counts, "total_tokens": 14 + 2 * k}
    chunks.append(chunk(None, usage=usage, obfuscation=two, **own(k)))
    return [*(wire([each]) for each in chunks), DONE, b""]


def _renamed(k: int, one: str, two: str) -> list[bytes]:
    """Return a stream, spelled with blanks, whose id is another from the first event on."""
    *reads, done, end = stream(k)
    ids = [one, *[two] * (len(reads) - 1)]
    return [
        *(
            read.replace(f"chatcmpl-{k:08d}".encode(), each.encode()).replace(
                b'":', b'": '
            )
            for read, each in zip(reads, ids, strict=True)
        ),
        done,
        end,
    ]


def _long(k: int, length: int) -> list[bytes]:
    """Return a stream with a note of some length while its finish waits."""
    *reads, done, end = stream(k)
    return [*reads, wire([chunk(None, p="x" * length, **own(k))]), done, end]


def _noted(k: int, notes: int) -> list[bytes]:
    """Return a stream with some notes behind its end."""
    note = wire([chunk(None, prompt_filter_results=[], x_note=1, **own(k))])
    return [wire([good(f"w{k}", **own(k))]), DONE, *[note] * notes, b""]


def _late(k: int, count: int) -> list[bytes]:
    """Return a stream with some words with figures behind its end."""
    figures = [
        {
            "prompt_tokens": 50 + k,
            "completion_tokens": 30 + at,
            "total_tokens": 80 + k + at,
        }
        for at in range(3 * k, 3 * k + count)
    ]
    late = [
        wire([good(f"l{k}{at}", usage=usage, **own(k))])
        for at, usage in enumerate(figures)
    ]
    *reads, end = stream(k)
    return [*reads, *late, end]


@pytest.mark.parametrize(
    ("make", "taught_by", "other"),
    [
        (_timed, lambda k: (1700000000 + k,), (1700000009,)),
        (_counted, lambda k: (5 + k, 3 + k, 8 + 2 * k), (10, 7, 99)),
        (_padded, lambda k: ("xy" * k, "xy" * k), ("one", "two")),
        (
            _renamed,
            lambda k: (f"9876543{k}", f"chatcmpl-1234567{k}"),
            ("chatcmpl-12345675", "chatcmpl-12345675"),
        ),
        (_long, lambda k: (k,), (70_000,)),
        (_noted, lambda _: (1,), (1,)),
        (_late, lambda _: (3,), (4,)),
        (_late, lambda _: (3,), (8,)),
    ],
)
@pytest.mark.parametrize("asked", [STREAM, replace(STREAM, usage=True, strict=True)])
def test_what_was_so_by_chance_in_others_is_not_so_in_every_stream(
    make: Callable[..., list[bytes]],
    taught_by: Callable[[int], tuple[Any, ...]],
    other: tuple[Any, ...],
    asked: Asked,
) -> None:
    tree = TraceTree()
    for k in (1, 2, 3, 4):
        assert_alike(tree, make(k, *taught_by(k)), replace(asked, time=1700000000 + k))
    assert_alike(tree, make(5, *other), replace(asked, time=1700000005))


def test_stream_whose_texts_are_read_shares_nothing() -> None:
    words = {k: [f"{k}tea", f" {k}is", f" {k}fine"] for k in (1, 2, 3)}
    words[4] = ["<think>", "Hm, so", "</think>", "Hi"]
    tree = TraceTree()
    for k, texts in words.items():
        chunks = [good(text, **own(k)) for text in texts]
        chunks[0]["choices"][0]["delta"]["role"] = "assistant"
        reads = [wire([each]) for each in chunks]
        assert assert_alike(tree, [*reads, DONE, b""], fixes=(ThinkAsText, *ON)) > 0


@pytest.mark.parametrize("between", [[b": pi", b"ng\n\n"], [b": ping\n\n"]])
def test_comments_do_not_prolong_what_waits(between: list[bytes]) -> None:
    waits = []
    for tree in (taught(), None):
        play = Play(tree)
        rewriter = Rewriter(play.pipeline, Decoder())
        begun: list[int] = []
        for at, read in enumerate([*stream(3)[:-2], *between * 5]):
            rewriter.on_wait = partial(begun.append, at)
            rewriter.read(read)
        waits.append(begun)
    assert waits[0] == waits[1]
    assert len(waits[1]) == 1


@pytest.mark.parametrize("count", [1, 3])
def test_finish_that_is_overtaken_waits_anew(count: int) -> None:
    tree = TraceTree()
    for k in range(1, 5):
        *reads, finish, done, end = stream(k)
        late = [wire([good(f" late{k}{at}", **own(k))]) for at in range(count)]
        assert assert_alike(tree, [*reads, finish, *late, done, end]) > count


def test_traces_are_shorter_than_what_may_wait() -> None:
    assert trace.MAX_STEPS * trace.MAX_EVENT_BYTES < MAX_EXTRA_BYTES
    at_most = trace.MAX_EVENT_BYTES - len(wire([good("", **own(3))]))
    tree = taught()
    for length, is_read in ((at_most, False), (at_most + 1, True)):
        reads = stream(3)
        reads[1] = wire([good("x" * length, **own(3))])
        assert (assert_alike(tree, reads) > 0) is is_read


def _unsettled(k: int, words: range) -> list[bytes]:
    """Return events of stream *k*, no two of which are alike."""
    return [wire([nim(f"w{k}{at}", odd=at, **own(k))]) for at in words]


def test_leaving_a_trace_costs_nothing_of_what_is_looked_at() -> None:
    tree = TraceTree()
    for k in (1, 2):
        outcome(Play(tree), [*_unsettled(k, range(20)), DONE, b""])
    left = []
    for at in (tree, None):
        rewriter = Rewriter(Play(at).pipeline, Decoder())
        for read in _unsettled(3, range(20)):
            rewriter.turn = Turn(most=0)  # each read in a turn of its own
            rewriter.read(read)
        rewriter.turn = Turn(lambda _: None, most=0)
        rewriter.read(b"".join(_unsettled(3, range(100, 340))))
        left.append(rewriter.pipeline.raw_events)
    assert left == [{}, {}]


# The first event is held, and sent as it was received.
HELD = tuple(fix for fix in ON if fix.name != "role-missing")


@pytest.mark.parametrize("fixes", [ON, HELD, ()])
def test_every_stream_has_a_record_of_when_it_began(fixes: Any) -> None:
    tree = TraceTree()
    for k in range(4):
        play = Play(tree, fixes=fixes)
        for read in (wire([chunk({}, finish="stop", **own(k))]), DONE, b""):
            play.read(read)
        assert play.records
    assert play.long == 0


def test_templates_that_hold_on_are_the_same_ones() -> None:
    tree = TraceTree()
    for k in (1, 2, 3):
        *first, last = (wire([nim(f"w{k}{at}", **own(k))]) for at in range(6))
        reads = [*first, wire([good(f"b{k}", **own(k))]), last]
        play = Play(tree)
        known = []
        for read in reads:
            play.read(read)
            known.append([id(each) for each in play.pipeline._templates.known])
    assert play.long == 0
    assert set(known[-3]) & set(known[-1])


def test_template_stays_the_same_where_another_one_joins_it() -> None:
    tree = TraceTree()
    for k in (1, 2, 3):
        kinds = ["content"] * 3 + ["reasoning_content"] * 3 + ["content"] * 3
        deltas = [{kind: f"w{k}{at}"} for at, kind in enumerate(kinds)]
        play, known = Play(tree), []
        for delta in deltas:
            play.read(wire([chunk(delta, **own(k))]))
            known.append({id(each) for each in play.pipeline._templates.known})
    assert play.long == 0
    assert any(one and one < then for one, then in itertools.pairwise(known))


def test_events_on_lines_of_their_own_end_what_a_stream_knows() -> None:
    *reads, finish, done, end = stream(3)
    joined = reads[6].removesuffix(b"\n") + reads[7]
    sent = [*reads[:6], joined, *reads[8:], finish, done, end]
    assert assert_alike(taught(), sent) > 1


def test_new_shape_is_learned_from_where_it_begins() -> None:
    tree = taught()
    for k in (3, 4):
        reads = stream(k)
        reads.insert(
            3, wire([chunk({"refusal": None, "content": f" oh{k}"}, **own(k))])
        )
        assert assert_alike(tree, reads) > 0
    reads = stream(5)
    reads.insert(3, wire([chunk({"refusal": None, "content": " oh5"}, **own(5))]))
    assert assert_alike(tree, reads) == 0
    assert assert_alike(tree, stream(6)) == 0


def test_comments_and_blank_lines_between_do_not_part_a_stream_from_its_trace() -> None:
    tree = taught()
    reads = stream(3)
    odd = [b": ping\n\n", reads[0], b": ping\n\n", *reads[1:3], b"\n", *reads[3:]]
    assert assert_alike(tree, odd) == 0
    finish = reads.index(DONE)
    waiting = [*reads[:finish], b": ping\n\n", *reads[finish:]]
    assert assert_alike(tree, waiting) > 0
    assert assert_alike(TraceTree(), waiting) > 0


@pytest.mark.parametrize("paused", [False, True])
def test_finish_that_has_waited_long_enough_leaves(paused: bool) -> None:
    tree = taught()
    *reads, done, end = stream(3)
    play = Play(tree)
    assert b"stop" not in b"".join(map(play.read, reads))
    assert play.pipeline.waiting is not None
    assert play.pipeline.holds
    assert play.long == 0
    if paused:
        assert b"stop" in b"".join(play.pipeline.release())
        assert play.pipeline.waiting is None
    out = play.read(done) + play.read(end)
    assert out.endswith(DONE)
    assert (b"stop" in out) is not paused


def test_what_waits_is_sent_as_received_when_repair_is_given_up() -> None:
    play = Play(taught())
    *reads, _, _ = stream(3)
    for read in reads:
        play.read(read)
    assert play.pipeline.rescue() == reads[-1]
    raw = wire([nim(" raw")])
    assert play.read(raw) == raw


def test_stream_that_breaks_off_tells_what_is_lost() -> None:
    tree = taught()
    *reads, _, _ = stream(3)
    for count, lost in ((3, False), (len(reads), True)):
        play = Play(tree)
        for read in reads[:count]:
            play.read(read)
        assert play.pipeline.abandon() is lost


def test_end_before_the_last_event_is_that_of_any_stream() -> None:
    tree = taught()
    *reads, done, end = stream(3)
    for count in range(1, len(reads) + 1):
        assert_alike(tree, [*reads[:count], end])
        assert_alike(tree, [*reads[:count], end, *reads[count:], done, end])
    assert assert_alike(tree, [*reads, done, end, reads[2], end]) > 0  # late words


def test_figures_on_each_event_are_those_of_the_last_one() -> None:
    def counting(word: str, **more: Any) -> Chunk:
        counts = {"prompt_tokens": 7, "completion_tokens": 1 + len(word) % 5}
        return chunk({"content": word}, usage=counts, **more)

    tree = TraceTree()
    for k in range(1, 5):
        assert_alike(tree, stream(k, counting))
    tree = TraceTree()
    for k, words in enumerate([3, 3, 3, 9, 3], 1):
        reads = stream(k, counting, words)
        play, alone = Play(tree, fixes=()), Play(None, fixes=())
        assert outcome(play, reads) == outcome(alone, reads)
    tree = taught()  # figures where there were none
    for k in range(3, 6):
        *reads, finish, done, end = stream(k)
        counted = [wire([counting(f" {k}{at}", **own(k))]) for at in range(9)]
        assert_alike(tree, [*reads, *counted, finish, done, end])


def test_call_is_read_and_so_is_all_after_it() -> None:
    tree, long = TraceTree(), []
    asked = Asked(stream=True, tools=True)
    for k in range(1, 5):
        opening, first, *_, done, end = stream(k)
        called = [
            chunk(
                {
                    "tool_calls": calling(head(0)).pop("choices")[0]["delta"][
                        "tool_calls"
                    ]
                },
                **own(k),
            ),
            *(
                calling(rest(0, each)) | own(k)
                for each in ('{"a', '": "', f"b{k}", '"}')
            ),
            chunk({}, finish="tool_calls", **own(k)),
        ]
        reads = [opening, first, *(wire([each]) for each in called), done, end]
        long.append(assert_alike(tree, reads, asked))
    assert long[3] == long[0] - 2  # the first two have been followed


@pytest.mark.parametrize("make", [good, nim, thinking])
def test_streams_that_begin_at_once_teach_the_next_ones(
    make: Callable[..., Chunk],
) -> None:
    """One that leaves a trace knows what it would know if it had not followed."""
    for seed in range(40):
        tree, order = TraceTree(), random.Random(seed)
        open_ones = [
            (Play(tree), Play(None), iter(stream(k, make))) for k in range(1, 7)
        ]
        while open_ones:
            play, alone, reads = order.choice(open_ones[:3])
            if (data := next(reads, None)) is None:
                open_ones.remove((play, alone, reads))
                continue
            assert play.read(data) == alone.read(data)
            assert play.pipeline.templates == alone.pipeline.templates
        assert [assert_alike(tree, stream(k, make)) for k in (7, 8, 9)][-1] == 0


def test_made_up_values_are_not_shared() -> None:
    """An answer without an id gets one that no other exchange has."""
    tree = TraceTree()
    for k in range(1, 5):
        asked = Asked(stream=True, id=f"exchange {k}", time=1750000000)
        reads = [re.sub(rb'"(id|created)":[^,]*,', b"", each) for each in stream(k)]
        play = Play(tree, asked)
        alone = Play(None, asked)
        assert outcome(play, reads) == outcome(alone, reads)
        assert play.long == alone.long


def test_tree_whose_streams_never_agree_is_left_alone() -> None:
    tree = TraceTree()
    for k in range(200):
        reads = stream(k)
        reads[0] = wire([chunk({"role": "assistant", "content": ""}, odd=k, **own(k))])
        assert_alike(tree, reads)
    assert not tree.learns
    assert len(tree.root.tried) <= 8


def step_of(received: bytes, sent: tuple[bytes, ...] | None) -> trace.Step:
    """Return the step of an event in which nothing varies."""
    known: dict[str, Any] = dict.fromkeys(("kinds", "names", "same", "keys"), ())
    end: dict[str, Any] = {"closed": (), "verbatim": True, "waits": False}
    more: dict[str, Any] = {"is_anew": False, "tokens": None, "shapes": ()}
    return trace.Step(received=(received,), sent=sent, **known, **end, **more)


_AROUND = [b'{"id":"', b'","created":', b',"100%s":"', b'"}\n\n']
_VALUES = [b"chatcmpl-7", b"1700000000"]
_TEXTS = [
    b"", b"a", b"1", b"01", b"9999999999999999", b"99999999999999999", b"1.5", b"-1",
    b'a"b', rb"a\"b", rb"a\u00e9", rb"a\x", b"a\\", b"\xc3", "\u00e9".encode(), b"\n",
    b'"}\n\n', b"x" * 2100, b"chatcmpl-7", b"%", b"%b", b'","created":', b"null",
]  # fmt: skip


@pytest.mark.parametrize("kind", [trace.TEXT_KIND, trace.COUNT_KIND, None])
@pytest.mark.parametrize("is_sure", [True, False])
def test_event_with_one_text_fits_whichever_way_it_is_compared(
    kind: int | None, is_sure: bool
) -> None:
    varies = kind is not None
    received = _AROUND if varies else [*_AROUND[:2], b"".join(_AROUND[2:])]
    step = replace(
        step_of(b"", None if is_sure else (b"x",)),
        received=tuple(received),
        kinds=(0, 1) if kind is None else (0, 1, kind),
        names=("id", "created"),
        same=(0,) if varies else (),
        keys=((0, "content") if kind == trace.TEXT_KIND else None,) if varies else (),
    )
    quick, general = edge_of(step), Edge(step, trace.Node(), ())
    fitted = 0
    for text in _TEXTS if varies else [b""]:
        around = [_AROUND[0], _VALUES[0], _AROUND[1], _VALUES[1], _AROUND[2]]
        event = b"".join([*around, text, _AROUND[3]])
        for raw in (event, event[:-1], event + b"x", event[1:], event[:20], b""):
            for values in (_VALUES, [_VALUES[0], b"1700000001"], _VALUES[:1], []):
                found = quick.fit(raw, values)
                assert found == general.fit(raw, values), (text, raw, values)
                assert found == ahead(quick, values)._fit(quick, raw)
                fitted += found is not None and values == _VALUES
    assert fitted == {None: 1, trace.COUNT_KIND: 2}.get(kind, 15 if is_sure else 13)


def edge_of(step: trace.Step) -> Edge:
    """Return an edge in which at most one text varies."""
    return Edge(step, trace.Node(), (), trace.OneText(step.received, step.kinds))


def ahead(edge: Edge, values: list[bytes]) -> StreamTrace:
    """Return the trace of a stream that has looked ahead at *edge*."""
    tree = TraceTree()
    tree.root.edges = [edge]
    made = StreamTrace(tree, [], Output(lambda _: None, "", verbatim=True), "")
    made._values_so_far.values = [*values]
    made._look_ahead(tree.root, values)
    return made


def test_text_that_grows_does_not_fit_whatever_is_known_ahead() -> None:
    step = replace(
        step_of(b"", None),
        received=(b'"', b'"\n\n'),
        kinds=(trace.TEXT_KIND,),
        same=(0,),
        keys=((0, "content"),),
    )
    edge = edge_of(step)
    made = ahead(edge, [])
    assert made._around == {edge.one_text: (b'"', b'"\n\n')}
    for last, is_same_choice in ((b"so", True), (rb"\u0073o", True), (b"so", False)):
        made._values_so_far.last = {(1 - is_same_choice, "content"): last}
        for text in (b"so", b"so far", b"s"):
            grows = is_same_choice and text.startswith(b"so")
            found = made._fit(edge, b'"%b"\n\n' % text)
            assert found == (None if grows else ([], [text])), (last, text)


def test_what_differs_in_others_is_nothing_that_is_known_ahead() -> None:
    values = [b"chatcmpl-7", b"1700000000"]
    step = replace(step_of(b"data: 1700000000\n\n", None), kinds=())
    edge = edge_of(step)
    assert ahead(edge, values)._around == {}
    assert ahead(edge, values[:1])._around == {edge.one_text: (step.received[0], None)}


def test_what_is_known_ahead_is_forgotten_with_the_trace() -> None:
    play, reads = Play(taught()), stream(3)
    for each in reads[:2]:
        play.read(each)
    assert play.pipeline.trace._around
    play.read(wire([chunk({"content": "x"}, odd=1, **own(3))]))
    assert not play.pipeline.trace._around


def test_event_that_is_too_long_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StreamTrace, "_fit", lambda *_: 1 // 0)
    made = ahead(edge_of(step_of(b"a" * 4096, None)), [])
    assert made._around == {}
    assert made.next(b"a" * 4096, 0, may_wait=True) is None
    with pytest.raises(ZeroDivisionError):
        made.next(b"a", 0, may_wait=True)


def test_value_that_comes_later_is_not_among_what_is_known_ahead() -> None:
    def reads(k: int, tier: str) -> list[bytes]:
        first = good(f" w{k}", **own(k), service_tier={"id": tier})
        said = [
            good(f" {word}{k}", model="model-4o1234", **own(k))
            for word in ("tea", "no", "all")
        ]
        opening = chunk({"role": "assistant", "content": ""}, **own(k))
        return [*(wire([each]) for each in (opening, first, *said)), DONE, b""]

    tree = TraceTree()
    for k in range(1, 5):
        assert_alike(tree, reads(k, f"req-{k:06d}"))
    assert assert_alike(tree, reads(9, "model-4o1234")) > 0


def test_id_that_may_be_a_time_is_not_shared() -> None:
    tree = TraceTree()
    for k in range(1, 5):
        reads = [
            re.sub(rb'"id":"[^"]*"', b'"id":"170000000%d"' % k, each)
            for each in stream(k)
        ]
        play, alone = Play(tree), Play(None)
        assert outcome(play, reads) == outcome(alone, reads)
        assert play.long == alone.long


def test_form_has_its_values_and_texts_in_their_places() -> None:
    form = trace.Form((b"100%s ", 0, b" %b", ~1, b"%", ~0, 1, b"%%"))
    made = form.fill([b"v%d", b"w"], [b"t", b"%u"])
    assert made == b"100%s t %bw%v%d%u%%"
    assert trace.Form(()).fill([]) == b""


def test_record_form_says_whether_its_output_is_that_of_the_event() -> None:
    records = [
        trace.FinishedRecord(0, 0, after, ("fix",), moved=False)
        for after in (((b"a", 0),), ((b"a", 1),), ((b"a", 0), (b"b",)), ())
    ]
    assert [trace.RecordForm(each, (b"a", 0)).equals_sent for each in records] == [
        True,
        False,
        False,
        False,
    ]
    assert not trace.RecordForm(records[0], None).equals_sent


def test_events_of_the_same_form_with_another_result_make_no_step() -> None:
    tree = TraceTree()
    step = step_of(b"a", None)
    other = step_of(b"a", (b"",))
    assert tree.go(tree.root, step, (b"x",)) is not None
    assert tree.go(tree.root, other, (b"y",)) is None
    assert tree.go(tree.root, step, (b"z",)) is None
    assert not tree.root.edges


def test_tree_whose_results_are_not_sure_is_forgotten() -> None:
    traces = Traces()
    tree = traces.at("a")
    for at in range(9):
        assert traces.at("a") is tree
        for sent in (b"one", b"two"):
            step = step_of(b"%d" % at, (sent,))
            tree.go(tree.root, step, ())
    assert traces.at("a") is not tree


def test_tree_with_too_many_steps_is_forgotten() -> None:
    traces = Traces()
    tree = traces.at("a")
    node = tree.root
    for at in range(trace.MAX_NODES):
        step = step_of(b"%d" % at, None)
        node = tree.go(node, step, ()) or node
        assert traces.at("a") is tree
    assert tree.go(node, step, ()) is None
    assert traces.at("a") is not tree


def test_tree_used_longest_ago_is_forgotten_first() -> None:
    traces = Traces()
    first = traces.at(0)
    second = traces.at(1)
    for at in range(2, trace.MAX_TREES):
        traces.at(at)
    assert traces.at(0) is first
    traces.at(trace.MAX_TREES)
    assert traces.at(0) is first
    assert traces.at(1) is not second


HOSTILE: dict[str, Callable[[int], list[bytes]]] = {
    "an error": lambda k: [encode(dumps({"error": {"message": f"no {k}"}})), DONE, b""],
    "no stream": lambda k: [b"<html>" * k, b""],
    "another id each time": lambda k: [
        *(wire([good(f" {at}", id=f"chatcmpl-{k}{at:07d}")]) for at in range(9)),
        b"",
    ],
    "growing": lambda k: [
        *(
            wire([good("Tea comes from Asia, they say"[: 3 * at + k], **own(k))])
            for at in range(1, 9)
        ),
        b"",
    ],
    "finishes twice": lambda k: [*stream(k)[:-2], stream(k)[-3], DONE, DONE, b""],
    "breaks off": lambda k: stream(k)[: 2 + k % 9],
    "all at once": lambda k: [b"".join(stream(k)), b""],
    "other words for the same": lambda k: [
        each.replace(b'"finish_reason":"stop"', b'"finish_reason":"eos"')
        for each in stream(k)
    ],
    "too deep": lambda k: [b'data: {"choices":' + b"[" * 5000 + b"%d\n\n" % k, b""],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("first", [False, True])
def test_hostile_stream_spoils_no_other(name: str, first: bool) -> None:
    tree = TraceTree() if first else taught()
    for k in range(20, 24):
        assert_alike(tree, HOSTILE[name](k))
    for k in range(3, 8):
        long = assert_alike(tree, stream(k))
    assert long == 0
    for k in range(24, 28):
        assert_alike(tree, HOSTILE[name](k))
        assert assert_alike(tree, stream(k)) == 0


@st.composite
def alike_streams(draw: st.DrawFn) -> list[list[bytes]]:
    """Return the reads of a few streams that are alike, more or less."""
    makes = draw(
        st.lists(st.sampled_from([good, nim, thinking]), min_size=1, max_size=4)
    )
    usage, found = draw(st.booleans()), []
    for k in range(1, 6):
        make = iter([*makes, *[makes[-1]] * 9])
        reads = stream(
            k, lambda *of, make=make, **more: next(make)(*of, **more), usage=usage
        )
        for _ in range(draw(st.integers(0, 2)) if k > 2 else 0):
            at = draw(st.integers(0, len(reads) - 1))
            odd = [
                b": ping\n\n",
                b"\n",
                DONE,
                reads[at],
                reads[2],
                reads[-3],
                b"data: {",
                b"",
            ]
            reads.insert(at, draw(st.sampled_from(odd)))
        found.append(reads)
    return found


@given(alike_streams(), st.booleans(), st.booleans())
def test_streams_leave_the_same_in_a_tree_and_alone(
    streams: list[list[bytes]], usage: bool, paused: bool
) -> None:
    tree, asked = TraceTree(), Asked(stream=True, usage=usage)
    for reads in streams:
        play, alone = Play(tree, asked), Play(None, asked)
        assert outcome(play, reads, paused=paused) == outcome(
            alone, reads, paused=paused
        )


@pytest.mark.parametrize("count", [0, 2])
def test_records_of_what_is_over_are_given_back(count: int) -> None:
    """Alone, and behind a side exit."""
    tree = TraceTree()
    for k in range(count):
        outcome(Play(tree), stream(k))
    more: dict[str, Any] = {} if not count else {"traces": tree}
    pipeline = NonSseStream(STREAM, ON, lambda _: None, "", lambda *_: False, **more)
    *reads, _, _, _ = stream(7, nim if not count else good)
    for event in (*reads, b": ping\n\n", wire([chunk({"odd": 1})])):
        pipeline.feed(event)

    def alive() -> int:
        return sum(isinstance(each, EventRecord) for each in gc.get_objects())

    before = alive()
    for at in range(300):
        pipeline.feed(b": ping\n\n")
        pipeline.feed(wire([nim(f" {at}")]))
    assert alive() - before < 10


# -- bugs --------------------------------------------------------------------------------

# Without `leave`, which gives up what waits: as little as that may fail.
PARTS = (
    Edge,
    Form,
    TemplateForm,
    TraceTree,
    StreamValues,
    StreamTrace,
    trace.OneText,
)
PLACES = [
    (owner, name)
    for owner in PARTS
    for name, value in vars(owner).items()
    if callable(value) and not name.startswith("__") and name != "leave"
] + [
    (stream_trace, "step_of"),
    (SlowPath, "event"),
    (Chain, "run"),
]


def assert_no_byte_lost(
    owner: Any, name: str, *fails: int, lasting: bool = False
) -> None:
    """Let a function fail at each of its calls *fails*, or from that one on."""
    odd = wire([chunk({"content": "<odd>", "odd": 1})])
    for count in (1, 2, 3):  # learned, proved, followed
        for before, behind in (([], []), ([odd], []), ([], [b": ping\n\n"])):
            for at in fails:
                calls = _calls_to(owner, name, at, count, (before, behind), lasting)
                if calls < at:  # nothing has failed, nor would it at a later one
                    break


def _calls_to(
    owner: Any,
    name: str,
    at: int,
    count: int,
    around: tuple[list[bytes], list[bytes]],
    lasting: bool,
) -> int:
    """Repair the stream *count* of a tree, and return how often the function ran."""
    tree = TraceTree()
    for k in range(1, count):
        outcome(Play(tree), stream(k))
    real, calls = getattr(owner, name), 0

    def fail(*of: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at or (lasting and calls > at):
            raise RuntimeError
        return real(*of, **named)

    *reads, finish, done, end = stream(count)
    before, behind = around
    sent = [*reads, *before, finish, *behind, done]
    rewriter = Rewriter(Play(tree).pipeline, Decoder())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, fail)
        out = b"".join(b"".join(rewriter.read(each)) for each in [*sent, end])
    for event in sent:
        words = re.findall(rb'"content":("[^"]+")|(\[DONE\])|("stop")', event)
        for word in filter(None, itertools.chain(*words)):
            assert out.count(word) == 1
    return calls


@pytest.mark.unmeasured
@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize(("owner", "name"), PLACES)
def test_bug_costs_no_byte(owner: Any, name: str, lasting: bool) -> None:
    assert_no_byte_lost(owner, name, 1, 2, 5, lasting=lasting)


@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [(StreamTrace, "_fit", 2), (SlowPath, "event", 2), (stream_trace, "step_of", 2)],
)
def test_bug_is_logged_and_the_place_forgotten(
    owner: Any, name: str, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert_no_byte_lost(owner, name, at)
    assert caplog.records


def test_what_follows_a_bug_behind_a_side_exit_passes_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play = Play(taught(nim))
    *reads, finish, _, _ = stream(3, nim)
    for each in (*reads, finish):
        play.read(each)
    event = SlowPath.event

    def fail(self: SlowPath, record: EventRecord, then: Event) -> None:
        if then.raw == finish:
            raise RuntimeError
        event(self, record, then)

    monkeypatch.setattr(SlowPath, "event", fail)
    play.read(b": ping\n\n")
    late = wire([nim(" late", **own(3))])
    assert play.read(late) == late
    assert play.pipeline.templates == []
