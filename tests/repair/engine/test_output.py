from llm_normalize.repair.engine.output import Output
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.sse import Gap


class Out:
    """What left, what was observed, and what was handed to those that wait."""

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
