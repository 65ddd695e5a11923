"""Whatever fails, wherever, and when: what came in leaves once, in a stream that goes on.

Every function that an event passes is made to fail, at one of its calls after another.
Each word of the streams below is in one event alone, so that none may be missing, and
none may leave twice.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.fixes.content import ContentNull
from llm_normalize.repair.engine import event_repair, payload
from llm_normalize.repair.engine.assembled_calls import AssembledCalls
from llm_normalize.repair.engine.fix_chain import Chain
from llm_normalize.repair.engine.output import Output
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.engine.text_memory import Around, TextMemory
from llm_normalize.repair.fix import DONE, Fix, HoldingFix, calling, chunk, wire
from llm_normalize.repair.machine import (
    error_words,
    extra_fields,
    finish,
    lost_events,
    sending,
    usage,
)
from llm_normalize.repair.machine.machine import Machine
from llm_normalize.repair.machine.state import State
from llm_normalize.repair.outcome import ChunkSender, EventRecord, Outgoing
from llm_normalize.wire.content_encoding import Decoder
from llm_normalize.wire.event_boundary import Boundary
from llm_normalize.wire.sse import Event, EventParser

TOOLS = Asked(stream=True, tools=True)
USAGE = Asked(stream=True, usage=True)


def words(name: str, count: int = 12, **more: Any) -> list[Any]:
    texts = [f"<{name}{at}>" for at in range(count)]
    return [chunk({"role": None, "content": text}, **more) for text in texts]


def fragment(arguments: str, **more: Any) -> Any:
    function = {"arguments": arguments, **more.pop("function", {})}
    return calling({"index": 0, **more, "function": function})


def counted(total: int) -> Any:
    return {"prompt_tokens": 1, "completion_tokens": total - 1, "total_tokens": total}


NULL = chunk({"role": "assistant", "content": None})
STOP = chunk({}, finish="stop")
STREAMS: dict[str, tuple[Asked, list[Any]]] = {
    "text": (
        TOOLS,
        [
            b": ping\r\n\r\n",
            NULL,
            *words("nim"),
            b'data: {"{half":NaN}\n\n',
            b'event: a\ndata: {"odd":"<odd0>","b":NaN}\n\n',
            STOP,
            chunk({"content": "<late0>"}),
            STOP,
            chunk(None, usage=counted(9001)),
            DONE,
        ],
    ),
    "calls": (
        TOOLS,
        [
            NULL,
            fragment("<arg0>", id="call_1"),
            fragment("<arg1>"),
            fragment("<arg2>", function={"name": "<name0>"}),
            *[fragment(f"<arg{at}>") for at in range(3, 12)],
            calling({"index": 1, "id": "call_2", "function": {"arguments": "<arg12>"}}),
            calling({"index": 1, "function": {"arguments": "<arg13>"}}),
            chunk({}, finish="tool_calls"),
            DONE,
        ],
    ),
    "nameless": (
        TOOLS,
        [
            chunk({"role": "assistant", "content": "<open0>"}),
            fragment("<arg0>", id="call_1"),
            calling({"index": 1, "id": "call_2", "function": {"arguments": "<arg1>"}}),
            DONE,
        ],
    ),
    "usage": (
        USAGE,
        [
            chunk({"role": "assistant", "content": "<open0>"}, usage=counted(8001)),
            *[
                each | {"usage": counted(8002 + at)}
                for at, each in enumerate(words("count"))
            ],
            chunk(None, usage=counted(9001)),
            chunk({"content": "<end0>"}, finish="stop"),
            {"error": {"message": "<error0>", "code": 500}},
        ],
    ),
}
OUTPUT = {"take", "drain", "undo", "rescue", "restart"}  # what rescues has to work
PLACES: list[tuple[Any, str]] = [
    (owner, name)
    for owner in (
        Boundary, Chain, Machine, State, Event, EventParser, Output,
        ChunkSender, Outgoing, Seen, EventRecord, Around, TextMemory,
    )
    for name, value in vars(owner).items()
    if callable(value) and not name.startswith("__") and name not in OUTPUT
    and (owner, name) != (Machine, "give_up")
] + [
    (module, name)
    for module in (error_words, extra_fields, finish, lost_events, sending, usage)
    for name, value in vars(module).items()
    if getattr(value, "__module__", "") == module.__name__
] + [(payload, "loads"), (event_repair, "is_chunk")]  # fmt: skip
METHODS = ("event", "unread", "edit", "flush", "end", "error")
FIX_PLACES = [
    (fix, name)
    for fix in (*FIXES, AssembledCalls)
    for name in METHODS
    if getattr(fix, name, None)
    not in (getattr(HoldingFix, name), getattr(Fix, name, None))
]
# Without what sends, or gives up what waits: that cannot fail for good.
LASTING = [
    (owner, name)
    for owner, name in PLACES + FIX_PLACES
    if owner not in (Output, ChunkSender, Outgoing, EventRecord)
    and name not in ("flush", "_draw", "_draw_due", "_called", "_send_held", "ride")
    and (owner, name) != (usage, "attach")
    and (name != "end" or not (owner is Chain or issubclass(owner, Fix)))
]
MOST = {0: 4, 1: 1, 90: 1}
"""How many calls of one function are made to fail, one after another, by the reads: most
where each event has one of its own."""


class Failing:
    """A function that fails at one of its calls, or from that one on."""

    def __init__(self, real: Callable[..., Any], at: int, *, once: bool = True) -> None:
        self.calls = 0
        self._real = real
        self._at = at
        self._once = once

    def __get__(self, owner: object, _: object) -> Callable[..., Any]:
        return lambda *of, **more: self(owner, *of, **more)

    def __call__(self, *of: Any, **more: Any) -> Any:
        self.calls += 1
        if self.calls == self._at or (self.calls > self._at > 0 and not self._once):
            raise RuntimeError
        return self._real(*of, **more)


def run(stream: str, reads: int) -> bytes:
    asked, events = STREAMS[stream]
    rewriter = Rewriter(Pipeline(asked, FIXES), Decoder())
    data = wire(events)
    parts = [wire([each]) for each in events]  # one a read
    if reads:
        size = len(data) // reads + 1
        parts = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"".join(rewriter.read(part)) for part in (*parts, b""))


def faults(stream: str, out: bytes) -> Iterator[str]:
    """Yield what is missing of *stream*, and what is there twice."""
    sent = wire(STREAMS[stream][1])
    for word in sorted(set(re.findall(rb"<\w+>|\{half|\[DONE\]", sent))):
        if out.count(word) != 1:
            yield f"{word!r} {out.count(word)} times"
    if b'"total_tokens":9001' not in out and b"9001" in sent:
        yield "usage is missing"
    finishes, most = (each.count(b'"finish_reason":"') for each in (out, sent))
    if not min(1, most) <= finishes <= max(1, most):
        yield f"{finishes} finish reasons"


@cache
def calls_of(stream: str, reads: int) -> dict[tuple[Any, str], int]:
    """Return how often each function is called where none fails."""
    with pytest.MonkeyPatch.context() as patch:
        counters = {
            (owner, name): Failing(getattr(owner, name), 0)
            for owner, name in PLACES + FIX_PLACES
        }
        for (owner, name), counter in counters.items():
            patch.setattr(owner, name, counter)
        assert not list(faults(stream, run(stream, reads)))
    return {place: counter.calls for place, counter in counters.items()}


def fails(
    place: tuple[Any, str], stream: str, reads: int, *, once: bool = True
) -> list[str]:
    """Return what is wrong after a failure of the function at *place*.

    It fails at `MOST` of its calls, the first among them, or, of one large read, amid them.
    """
    owner, name = place
    calls = calls_of(stream, reads)[place]
    real = getattr(owner, name)
    found: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        step = max(1, -(-calls // MOST[reads]))
        for at in range(step // 2 + 1 if reads == 1 else 1, calls + 1, step):
            patch.setattr(owner, name, Failing(real, at, once=once))
            out = run(stream, reads)
            found += [f"call {at}: {fault}" for fault in faults(stream, out)]
    return found


def named(place: tuple[Any, str]) -> str:
    return f"{place[0].__name__}.{place[1]}"


@pytest.mark.parametrize("place", PLACES, ids=named)
def test_a_failure_anywhere_loses_nothing_and_sends_nothing_twice(
    place: tuple[Any, str],
) -> None:
    for stream in STREAMS:
        for reads in MOST:
            assert fails(place, stream, reads) == [], (stream, reads)


@pytest.mark.parametrize("place", LASTING, ids=named)
def test_what_fails_for_good_loses_nothing_and_sends_nothing_twice(
    place: tuple[Any, str],
) -> None:
    for stream in STREAMS:
        assert fails(place, stream, 0, once=False) == [], stream


def test_what_waits_and_cannot_be_written_leaves_as_it_came() -> None:
    pipe = Pipeline(TOOLS, FIXES)
    stop = wire([chunk({"role": None}, finish="stop")])
    opened = pipe.feed(wire([chunk({"role": "assistant", "content": "Hi"})]) + stop)
    assert pipe._machine.state.finish is not None
    pipe._machine.state.finish.chunk = {"x": object()}
    assert stop not in b"".join(opened)
    assert pipe.rescue() == stop


def fail(*_: object) -> None:
    raise RuntimeError


def test_a_fix_that_cannot_even_undo_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AssembledCalls, "undo", fail)
    monkeypatch.setattr(ContentNull, "edit", fail)
    pipe = Pipeline(TOOLS, FIXES)
    said = wire([chunk({"role": "assistant", "content": "Hi"})])
    assert pipe.feed(said) == [said]


def test_what_cannot_be_released_is_told_and_the_rest_is_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pipe = Pipeline(TOOLS, FIXES)
    said = wire([chunk({"role": "assistant", "content": "Hi"})])
    assert pipe.feed(said) == [said]
    monkeypatch.setattr(Machine, "give_up", fail)
    assert pipe.feed(b"data: {") == []
    assert pipe.rescue() == b"data: {"
    assert "a part that waited is lost" in caplog.text


def test_nothing_is_raised_where_even_the_rescue_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = Pipeline(TOOLS, FIXES)
    for owner, name in ((pipe, "feed"), (pipe, "known"), (pipe, "rescue")):
        monkeypatch.setattr(owner, name, fail)
    rewriter = Rewriter(pipe, Decoder())
    assert rewriter.read(b"data: x\n\n") + rewriter.read(b"y") == [b"data: x\n\n", b"y"]
