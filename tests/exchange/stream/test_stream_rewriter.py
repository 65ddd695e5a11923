import functools
import gzip
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import brotli
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import zstd_frames
from llm_normalize.chat.state.asked import Asked
from llm_normalize.exchange.stream.stream_rewriter import Rewriter, Turn
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine import payload
from llm_normalize.repair.engine.event_repair import EventRepair
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.engine.text_memory import Around, TextMemory
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.content_encoding import (
    MAX_INFLATED_PER_TURN,
    Decoder,
    decoder_for,
)
from llm_normalize.wire.event_boundary import Boundary, ValueScan
from llm_normalize.wire.json_text import loads
from llm_normalize.wire.limits import MAX_EVENT
from streams import cuts

HEAD = chunk({"role": "assistant", "content": ""})
TEXT = chunk({"content": "Hi"})
FINISH = chunk({}, finish="stop")
GOOD = wire([HEAD, TEXT, FINISH, DONE])
BAD = b": ping\n\n" + GOOD.replace(b"data: ", b"data:").replace(b"\n\n", b"\r\n\r\n")

ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd_frames.compress,
    "deflate, zstd": lambda data: zstd_frames.compress(zlib.compress(data)),
}


class Client:
    """One rewriter, and what it says."""

    def __init__(self, encoding: str = "", *, repair: bool = True) -> None:
        self.steps: list[EventRecord] = []
        self.given_up = 0
        decoder = decoder_for(encoding)
        assert decoder is not None
        self.pipeline = Pipeline(Asked(stream=True), FIXES, self.steps.append, "label")
        self.rewriter = Rewriter(
            self.pipeline, decoder, repair=repair, give_up=self.give_up
        )

    def give_up(self) -> None:
        self.given_up += 1

    def read(self, data: bytes) -> bytes:
        out = self.rewriter.read(data)
        assert isinstance(out, list)
        # An empty element would end an HTTP/1.1 answer.
        assert all(out)
        return b"".join(out)

    def run(self, reads: Sequence[bytes]) -> bytes:
        return b"".join(map(self.read, [*(each for each in reads if each), b""]))


def rewrite(data: bytes, encoding: str = "", *, repair: bool = True) -> bytes:
    """Return what *data* becomes, which must be the same in any cut."""
    whole = Client(encoding, repair=repair).run([data])
    for reads in cuts(data):
        assert Client(encoding, repair=repair).run(reads) == whole, reads
    return whole


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_stream_is_decoded_and_repaired_in_any_cut(encoding: str) -> None:
    assert rewrite(ENCODERS[encoding](GOOD), encoding) == GOOD
    assert rewrite(ENCODERS[encoding](BAD), encoding) == b"\n" + GOOD


@pytest.mark.parametrize("encoding", ENCODERS)
def test_observing_leaves_every_byte_encoded_as_it_came(encoding: str) -> None:
    data = ENCODERS[encoding](BAD)
    assert rewrite(data, encoding, repair=False) == data


def test_bytes_after_an_empty_read_are_decoded_all_the_same() -> None:
    # The client was told that nothing is encoded.
    client = Client("gzip")
    data = gzip.compress(GOOD)
    out = client.read(data[:40]) + client.read(b"") + client.read(data[40:])
    assert out == GOOD


# -- a corrupt body ----------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_what_inflates_to_too_much_at_once_is_broken_off(
    encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(encoding)
    out = client.read(ENCODERS[encoding](b"\n" * (MAX_INFLATED_PER_TURN + 1)))
    assert len(out) <= MAX_INFLATED_PER_TURN
    assert client.given_up == 1
    assert client.read(b"more") == b""
    (record,) = caplog.records
    assert record.getMessage() == (
        "label: it inflates to more than 16 MiB at once; the answer is broken off"
    )


def test_observing_a_corrupt_body_breaks_nothing_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert rewrite(b"no gzip", "gzip", repair=False) == b"no gzip"
    client = Client("gzip", repair=False)
    client.run([b"no gzip"])
    assert client.given_up == 0
    assert caplog.records[-1].getMessage().endswith(")")


def test_giving_up_may_fail() -> None:
    # A flow that the user has killed meanwhile cannot be killed again.
    client = Client("gzip")

    def fail() -> None:
        raise RuntimeError

    client.rewriter._give_up = fail
    assert client.rewriter.read(b"no gzip") == []
    assert client.rewriter.read(b"") == []


# -- bugs --------------------------------------------------------------------------


class BrokenDecoder(Decoder):
    def feed(self, data: bytes) -> Iterator[bytes]:
        raise RuntimeError


@pytest.mark.parametrize("names", [("known",), ("feed", "end")])
def test_a_pipeline_that_fails_costs_no_byte(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    half = len(wire([HEAD])) + 9
    out = client.read(GOOD[:half])

    def fail(*_: object) -> None:
        raise RuntimeError

    for name in names:
        monkeypatch.setattr(client.pipeline, name, fail)
    out += client.read(GOOD[half:]) + client.read(b"")
    assert out == GOOD


def test_who_shows_it_cannot_cost_bytes(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(repair=False)

    def fail() -> None:
        raise RuntimeError

    client.rewriter.on_growth = fail
    assert client.read(BAD) == BAD
    assert "it is not shown" in caplog.text


def test_who_keeps_what_is_sent_by_the_clock_cannot_cost_bytes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: bytes) -> None:
        raise RuntimeError

    client = Client()
    out = client.read(GOOD.removesuffix(DONE))
    monkeypatch.setattr(client.rewriter.snapshot, "add_sent", fail)
    assert out + client.rewriter.release() + DONE == GOOD
    assert "it is not shown" in caplog.text


def test_a_decoder_that_fails_never_raises() -> None:
    rewriter = Rewriter(Pipeline(Asked(stream=True), FIXES), BrokenDecoder())
    assert isinstance(rewriter.read(GOOD), list)
    assert isinstance(rewriter.read(b""), list)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_any_bytes_never_raise(encoding: str) -> None:
    dice = random.Random(encoding)
    for _ in range(50):
        data = bytearray(ENCODERS[encoding](BAD))
        for _ in range(dice.randrange(4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        client = Client(encoding)
        client.run(list(cuts(bytes(data)))[2])
        assert client.rewriter.bytes_in == len(data)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "values": lambda: b"[]" * 2_000_000,
    "values on one line": lambda: b"data: " + b"{}" * 2_000_000 + b"\n\n",
    "values on lines": lambda: (b"data: " + b"{}" * 400 + b"\n\n") * 4_000,
    "small events": lambda: b"data:{}\n\n" * 400_000,
    "one line ends": lambda: b"data: {}\n" * 400_000,
    "lines of a block": lambda: b"data: {\n" * 400_000 + b"\n",
    "carriage returns": lambda: b"data: {}\r\r" * 400_000,
    "brackets": lambda: b"data: [" + b"[]," * 1_000_000 + b"1]\n\n",
    "errors": lambda: b'data: {"error":{"message":"x"}}\n\n' * 100_000,
    "calls": lambda: wire(
        [chunk({"tool_calls": [{"index": 0, "id": "c"}] * 3_000})] * 10
    ),
    "choices": lambda: wire(
        [chunk(None, choices=[{"delta": {"content": "a"}}] * 4_000)] * 10
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_little_of_what_one_read_inflates_to_is_looked_at(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    steps = (
        EventRepair.event,
        ValueScan.__init__,
        Boundary._next_line,
        TextMemory.learn,
    )

    def count(step: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            nonlocal looked
            looked += 1
            return step(*given)

        return counted

    for step in steps:
        owner = {"event": EventRepair, "__init__": ValueScan, "learn": TextMemory}
        monkeypatch.setattr(
            owner.get(step.__name__, Boundary), step.__name__, count(step)
        )
    client = Client("gzip")
    client.rewriter.turn = Turn(lambda _: None)  # all reads are of one turn
    hostile = HOSTILE[name]()
    data = gzip.compress(hostile, 1)
    out = b"".join(
        client.read(data[at : at + 65536]) for at in range(0, len(data), 65536)
    )
    assert looked < 30_000
    out += client.read(b"")
    assert len(out) > 0.95 * len(hostile)  # it passes as it is


def test_provider_is_slowed_down_that_sends_much_in_one_turn() -> None:
    client = Client()
    turn = client.rewriter.turn = Turn(lambda _: None)
    asked = list[int]()
    client.rewriter.on_much = lambda: asked.append(client.pipeline.events)
    odd = [chunk({"content": "a"}, **{f"k{at}": 1}) for at in range(220)]
    data = wire([HEAD, *odd]).replace(b": {", b":{")
    client.read(data[: len(data) // 3])
    assert not asked
    client.read(data[len(data) // 3 :])
    assert asked == [221]
    turn._end()
    client.read(wire([TEXT]))
    assert asked == [221]


def test_comments_in_any_number_become_newlines_at_once() -> None:
    client = Client()
    odd = (b": ping\n: pong\n\n" + b":\n\n") * 500
    assert client.read(wire([HEAD]) + odd) == wire([HEAD]) + b"\n" * 1000
    assert client.read(b": a\n" * 20_000) == b""
    assert client.read(b"\n" + wire([TEXT])) == b"\n" + wire([TEXT])
    assert client.read(b": a\n" * 20_000 + wire([TEXT])) == wire([TEXT])
    steps = {step.n: step for step in client.steps if step.changed}
    assert [*steps] == [*range(1, 52), 1001, 1003]
    assert steps[1].before == b": ping\n: pong\n\n"
    assert steps[1].after == [b"\n"]
    assert steps[51].after == [b"\n" * 950]
    assert b"".join(step.before or b"" for step in client.steps[1:52]) == odd
    assert client.pipeline.events == 1004


def test_event_of_very_many_values_passes_as_it_is() -> None:
    client = Client()
    data = b"data: " + b'{"choices":[]}' * 600 + b"\n\n"
    assert client.read(data) == data
    assert client.pipeline.raw_events == {"too-many": 1}


LARGE_EVENTS = {
    "numbers": b'"a":[' + b"1," * 120_000 + b"1]",
    "objects": b'"a":[' + b"{}," * 20_000 + b"{}]",
    "texts": b'"a":[' + b'"",' * 90_000 + b'""]',
    "quotes": b'"a":"' + b'\\"' * 300_000 + b'"',
}


@pytest.mark.parametrize("name", LARGE_EVENTS)
def test_event_that_takes_long_to_read_passes_as_it_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[int]()

    def counted(data: bytes) -> Any:
        read.append(len(data))
        return loads(data)

    monkeypatch.setattr(payload, "loads", counted)
    client = Client()
    data = b"data:{" + LARGE_EVENTS[name] + b',"choices":[]}\n\n'
    assert client.read(data) == data
    assert client.pipeline.raw_events.total() == 1
    assert not read


def _said(text: str, **more: Any) -> bytes:
    return wire([chunk({"content": text, **more})])


def _spaced(text: str) -> bytes:
    return _said(text).replace(b"data: ", b"data:")


def _spelled(say: Callable[[str], bytes], text: bytes) -> bytes:
    return say("WORD").replace(b"WORD", text)


READS: list[bytes | str] = [
    *(_said(word) for word in ("a", "of", " the", "x" * 300)),
    *(_spaced(word) for word in ("b", "in", " a word")),
    *(_said(word) for word in ("\n", '"', "\\", "\x7f", "é", "的", "[DONE]")),
    *(_spaced(word) for word in ("\t", "ß")),
    *(_spelled(_said, text) for text in (rb"\u00e9", rb"\/", rb"\x", b"\xc3")),
    *(_spelled(_spaced, text) for text in (rb"\u00e9", rb"\/", rb"\x", b"\xc3")),
    _said(""),
    _said("odd", odd=1),
    _said("half")[:30],
    _said("half")[30:],
    b"\n",
    b"\r\n",
    b": ping\n\n",
    _said("two") + _said("of them"),
    b"data: \0\n\n",
    b"\0x\0",
    wire([FINISH]),
    DONE,
    b"",
    "release",
    "newline",
]


class Watched(Client):
    """One rewriter, which *remembers* texts or parses every event, and what it counts."""

    def __init__(self, *, remembers: bool) -> None:
        super().__init__()
        self.counted: list[tuple[int, bytes, list[bytes], list[str]]] = []
        self.pipeline = Pipeline(
            Asked(stream=True), FIXES, self.steps.append, count=self._count
        )
        self.rewriter = Rewriter(self.pipeline, Decoder())
        if not remembers:
            self.pipeline._memory.learn = lambda *_: None  # type: ignore[method-assign]

    def _count(self, n: int, before: bytes, after: bytes, around: Around) -> None:
        self.counted.append((n, before, [after], list(around.fixes)))

    def play(self, reads: Sequence[bytes | str]) -> list[bytes]:
        out = []
        for read in reads:
            if read == "release":
                out.append(self.rewriter.release())
            elif isinstance(read, str):
                out.append(b"\n" if self.rewriter.newline() else b"")
            else:
                out.append(self.read(read))
        return out

    def seen(self) -> list[Any]:
        rewriter = self.rewriter
        steps = [each for each in self.steps if each.changed]
        changed = [(each.n, each.before, each.after, each.fixes) for each in steps]
        changed += self.counted
        changed.sort(key=lambda each: each[0])
        sizes = rewriter.bytes_in, rewriter.bytes_out
        return [sizes, rewriter.events, rewriter.pipeline.raw_events, changed]


_SETTLED = [(_said(word), 1) for word in "abcdef"] + [
    (_spaced(word), 1) for word in "abcdef"
]


@given(st.lists(st.tuples(st.sampled_from(READS), st.integers(1, 6)), max_size=20))
@example([*_SETTLED, (_said("a"), 1), (_spaced("b"), 1), (b"\r\n", 1)])
@example([*_SETTLED, (_said("half")[:30], 1), (_spaced("b"), 2)])
@example([*_SETTLED, (_spaced("x" * MAX_EVENT), 1), (_spaced("b"), 2)])
@example([*_SETTLED, (_spelled(_spaced, b"\xc3"), 1), (_spaced("b"), 2)])
def test_what_is_not_parsed_is_sent_and_counted_as_ever(
    drawn: list[tuple[bytes | str, int]],
) -> None:
    reads = [wire([HEAD]), *(read for read, count in drawn for _ in range(count))]
    quick, slow = Watched(remembers=True), Watched(remembers=False)
    assert quick.play(reads) == slow.play(reads)
    assert quick.seen() == slow.seen()
    assert slow.counted == []
    if drawn[: len(_SETTLED)] == _SETTLED:
        assert quick.counted


def test_turn_ends_for_all_who_wait_for_that() -> None:
    later, ended = list[Callable[[], None]](), list[str]()
    turn = Turn(later.append)
    for name in "ab":
        turn.at_end(functools.partial(ended.append, name))
    assert len(later) == 1
    later.pop()()
    assert ended == []
    later.pop()()
    assert (ended, turn.number) == (["a", "b"], 1)
    assert turn.begin() == 1
    later.pop()()
    later.pop()()
    assert (ended, turn.number) == (["a", "b"], 2)


def test_bug_in_the_memory_costs_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Watched(remembers=True)
    client.play([wire([HEAD]), *map(_spaced, "abcdefgh")])
    assert client.counted
    monkeypatch.setattr(Around, "text_in", lambda *_: 1 // 0)
    reads = [_spaced("i"), wire([chunk({"content": "x"}, more=1)]), b""]
    assert client.play(reads) == reads
