import logging

import pytest

from llm_normalize.repair.engine.output import Output
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.sse import Gap


class Out:
    """What left, which records were handed over, and what was handed to those that wait."""

    def __init__(self, *, verbatim: bool = False) -> None:
        self.seen: list[EventRecord] = []
        self.joined: list[tuple[EventRecord, bytes]] = []
        self.output = Output(self.seen.append, "a stream", verbatim=verbatim)

    def play(self, step: EventRecord, *after: bytes) -> EventRecord:
        self.output.open_record(step)
        for data in after:
            self.output.emit(step, data)
        self.output.close_record(step)
        return step

    def gap(self, raw: bytes, *, joins: bool = False) -> list[bytes]:
        self.output.gap(Gap(raw, joins), lambda *what: self.joined.append(what))
        return self.output.drain()


def test_a_step_whose_line_end_may_go_on_is_observed_when_that_is_clear() -> None:
    out = Out()
    step = out.play(EventRecord(0, b"a\r\r"), b"a\r\r")
    assert out.seen == []
    out.output.settle()
    out.output.settle()
    assert out.seen == [step]


def test_a_line_feed_that_comes_late_leaves_at_once_and_joins_its_step() -> None:
    out = Out()
    step = out.play(EventRecord(0, b"a\r\r"), b"a\r\r")
    out.output.drain()
    assert out.gap(b"\n", joins=True) == [b"\n"]
    assert (step.before, step.after) == (b"a\r\r\n", [b"a\r\r\n"])


def test_a_line_feed_that_comes_late_is_for_those_that_wait() -> None:
    out = Out()
    step = out.play(EventRecord(0, b"a\r\r", waiting=1))
    assert out.gap(b"\n", joins=True) == []
    assert out.joined == [(step, b"\n")]


def test_an_observer_that_fails_is_said_and_costs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: EventRecord) -> None:
        raise RuntimeError

    output = Output(fail, "a stream", verbatim=False)
    with caplog.at_level(logging.ERROR):
        output.close_record(EventRecord(7, b"a"))
    assert "a stream: event 7 is not recorded" in caplog.text
