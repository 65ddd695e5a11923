import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import pytest
from mitmproxy.flow import Error

from llm_normalize.chat.state.asked import Asked
from llm_normalize.exchange.stream import keepalive_clock
from llm_normalize.exchange.stream.keepalive_clock import StreamClock, send_rest
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.wire.content_encoding import Decoder, decoder_for
from proxies import broken, chat_flow, fail

TEXT = chunk({"role": "assistant", "content": "Hi"})
STOP = chunk({}, finish="stop")


class Sent:
    """What stands in for `ClientStream`: it makes what is sent at once."""

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self.is_behind = False
        self.is_there = True
        self.ended = False

    def of(self, _: object) -> "Sent | None":
        return self if self.is_there else None

    async def send(self, make: Callable[[], bytes]) -> bool:
        self.out.append(make())
        return True

    async def end(self, conclude: Callable[[], tuple[bytes, bool]]) -> bool:
        data, is_over = conclude()
        self.out += [data] if data else []
        self.ended = self.ended or is_over
        return is_over


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    made = Sent()
    monkeypatch.setattr(keepalive_clock, "ClientStream", made)
    monkeypatch.setattr(keepalive_clock, "WAIT", 0.02)
    return made


def rewriter(*, repair: bool = True) -> Rewriter:
    return Rewriter(Pipeline(Asked(stream=True), FIXES), Decoder(), repair=repair)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():  # noqa: ASYNC110 - it is what is tested
            await asyncio.sleep(0.001)


def run(act: Callable[[StreamClock, Rewriter], Any], keepalive: float = 0) -> int:
    """Play *act* with a clock; return how often it said that it cannot send."""
    failures = 0

    def failed() -> None:
        nonlocal failures
        failures += 1

    async def play() -> None:
        made = rewriter()
        clock = StreamClock(chat_flow(), made, keepalive, failed)
        await act(clock, made)
        clock.stop()

    asyncio.run(play())
    return failures


def test_what_changes_while_it_waits_has_its_time_anew(sent: Sent) -> None:
    changed: list[float] = []

    async def act(_: StreamClock, made: Rewriter) -> None:
        loop = asyncio.get_running_loop()

        def change() -> None:  # always before the clock wakes: timers keep their order
            changed.append(loop.time())
            made.on_wait()

        loop.call_later(keepalive_clock.WAIT * 0.9, change)
        made.read(wire([TEXT, STOP]))
        await until(lambda: bool(sent.out))
        assert loop.time() >= changed[0] + keepalive_clock.WAIT

    run(act)
    assert sent.out == [wire([STOP])]


def test_silence_is_bridged_but_not_in_an_event(sent: Sent) -> None:
    async def act(_: StreamClock, made: Rewriter) -> None:
        made.read(wire([TEXT]))
        await until(lambda: len(sent.out) >= 2)
        sent.is_behind = True
        del sent.out[:]
        await until(lambda: len(sent.out) >= 1)
        assert sent.out == [b""]

    assert run(act, 0.02) == 0
    assert sent.out == [b""]


def test_newline_is_no_sign_that_the_provider_says_anything(sent: Sent) -> None:
    async def act(clock: StreamClock, made: Rewriter) -> None:
        made.read(wire([TEXT]))
        for _ in range(21):  # the first one sees the event, each ten more are a silence
            clock._check_now()
            await asyncio.sleep(0)

    assert run(act, 100) == 0
    assert sent.out == [b"\n", b"\n"]


def test_silence_after_a_finish_ends_the_stream_whatever_comments_come(
    sent: Sent,
) -> None:
    async def act(clock: StreamClock, made: Rewriter) -> None:
        made.read(wire([TEXT, STOP]))
        for _ in range(11):
            assert not sent.ended
            made.read(b": ping\n\n")
            clock._check_now()
            await asyncio.sleep(0)

    assert run(act, 100) == 0
    # On a busy machine the finish has left before: its own wait is over then.
    assert (sent.ended, b"".join(sent.out)) == (True, wire([STOP]))


def test_message_ends_soon_after_its_last_event(sent: Sent) -> None:
    async def act(_: StreamClock, made: Rewriter) -> None:
        made.read(wire([TEXT, STOP, DONE]))
        await until(lambda: sent.ended)
        assert made.read(b"") == []

    assert run(act) == 0
    assert sent.out == []


def test_what_waits_for_the_next_event_leaves_in_a_long_silence(sent: Sent) -> None:
    half = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {}}]})

    async def act(clock: StreamClock, made: Rewriter) -> None:
        made.read(wire([TEXT, half]))
        await asyncio.sleep(0.05)
        assert (sent.out, made.waits, made.holds) == ([], False, True)
        for _ in range(11):
            clock._check_now()
            await asyncio.sleep(0)

    assert run(act, 100) == 0
    assert b'"c"' in sent.out[0]
    assert not sent.ended


def test_there_is_no_newline_where_no_block_has_ended() -> None:
    made = rewriter()
    assert made.newline() == b"\n"
    made.read(b"data: " + b"x" * (8 * 1024 * 1024 + 1))
    assert made.newline() == b""
    assert made.release() == b""
    assert rewriter(repair=False).newline() == b""


def test_observed_stream_gets_nothing_by_the_clock() -> None:
    made = rewriter(repair=False)
    made.read(wire([TEXT, STOP]))
    assert (made.waits, made.release(), made.waits) == (True, b"", False)
    made.read(DONE)
    assert (made.waits, made.conclude(broke=True)) == (False, (b"", False))


def test_clock_ends_with_its_stream(sent: Sent) -> None:
    async def act(clock: StreamClock, made: Rewriter) -> None:
        sent.is_there = False
        made.read(wire([TEXT, STOP]))
        await until(lambda: clock._is_over)
        clock._wait()
        clock._check_later()
        assert clock._waking is clock._check is None

    assert run(act, 1) == 0
    assert sent.out == []


def test_mitmproxy_that_lacks_a_part_is_reported(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent, "send", fail)

    async def act(clock: StreamClock, made: Rewriter) -> None:
        made.read(wire([TEXT, STOP]))
        await until(lambda: clock._is_over)

    assert run(act) == 1


@pytest.mark.parametrize("kills", [False, True])
def test_break_after_a_finish_is_mostly_an_end(sent: Sent, *, kills: bool) -> None:
    made, flow = rewriter(), chat_flow()
    made.read(wire([TEXT, STOP]) + b'data: {"usage":')
    broken(flow, Error.KILLED_MESSAGE if kills else "server closed connection")
    asyncio.run(send_rest(flow, made))
    assert sent.ended is not kills
    assert sent.out == [wire([STOP]) + (b"" if kills else DONE)]


def test_what_waits_is_sent_before_a_corrupt_body_is_broken_off() -> None:

    decoder = decoder_for("gzip")
    assert decoder is not None
    made = Rewriter(Pipeline(Asked(stream=True), FIXES), decoder)
    body = gzip.compress(wire([TEXT, STOP]))
    out = b"".join(made.read(body[:-8])) + b"".join(made.read(b"\0" * 8))
    assert out == wire([TEXT, STOP])
    assert made.given_up
    assert made.release(last=True) == b""
