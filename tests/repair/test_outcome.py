from llm_normalize.repair.outcome import ChunkSender, EventRecord, Outgoing
from llm_normalize.wire.json_text import Number


def test_a_fix_is_named_once_in_the_order_of_its_first_change() -> None:
    step = EventRecord(0, b"a")
    for name in ("x", "y", "x"):
        step.fixed(name)
    assert step.fixes == ["x", "y"]


def test_a_step_without_fixes_is_unchanged() -> None:
    assert not EventRecord(0, b"a", [b"b"]).changed


def test_a_step_whose_bytes_came_out_alike_is_unchanged() -> None:
    assert not EventRecord(0, b"ab", [b"a", b"b"], ["x"]).changed


def test_a_step_is_changed_when_a_fix_made_other_bytes() -> None:
    assert EventRecord(0, b"a", [b"b"], ["x"]).changed
    assert EventRecord(0, b"a", [], ["x"]).changed  # dropped
    assert EventRecord(0, None, [b"a"], ["x"]).changed  # added


def test_steps_share_no_lists() -> None:
    EventRecord(0, b"a").fixed("x")
    assert EventRecord(1, b"b") == EventRecord(1, b"b", [], [], 0)


def test_a_piece_that_nothing_changed_leaves_as_it_came() -> None:
    assert Outgoing(EventRecord(0, b""), {"a": 1}, b'data: {"a" : 1}\n\n').encode() == (
        b'data: {"a" : 1}\n\n'
    )


def test_a_changed_piece_is_written_anew() -> None:
    outgoing = Outgoing(
        EventRecord(0, b""), {"a": Number("1.0")}, b'data: {"a" : 1.0}\r\r'
    )
    outgoing.fixed("x")
    assert outgoing.encode() == b'data: {"a":1.0}\n\n'
    assert outgoing.record.fixes == ["x"]


class Sink:
    def __init__(self) -> None:
        self.sent: list[tuple[EventRecord, bytes]] = []
        self.closed: list[EventRecord] = []
        self.sender = ChunkSender(
            lambda step, data: self.sent.append((step, data)), self.closed.append
        )


def test_a_piece_that_is_sent_closes_nothing() -> None:
    sink = Sink()
    step = EventRecord(0, b"")
    sink.sender.send(Outgoing(step, {}, b"a"))
    assert sink.sent == [(step, b"a")]
    assert sink.closed == []


def test_what_rides_on_repairs_has_one_turn() -> None:
    ridden: list[Outgoing] = []
    sender = ChunkSender(lambda *_: None, lambda _: None, ridden.append)
    changed = Outgoing(EventRecord(0, b""), {}, None)
    for piece in (
        changed,
        Outgoing(changed.record, {}, b"a"),
        Outgoing(changed.record, {}, None, True),
    ):
        sender.send(piece)
    assert ridden == [changed]


def test_a_piece_that_waits_is_counted_until_it_is_released() -> None:
    sink = Sink()
    step = EventRecord(0, b"")
    outgoing = Outgoing(step, {}, b"a")
    assert sink.sender.hold(outgoing) is outgoing
    assert (step.waiting, sink.sent) == (1, [])
    sink.sender.release(outgoing)
    assert (step.waiting, sink.sent, sink.closed) == (0, [(step, b"a")], [step])


def test_a_piece_that_is_dropped_sends_nothing() -> None:
    sink = Sink()
    step = EventRecord(0, b"")
    sink.sender.drop(sink.sender.hold(Outgoing(step, {}, b"a")))
    assert (step.waiting, sink.sent, sink.closed) == (0, [], [step])


def test_what_is_added_is_a_step_of_its_own_with_nothing_before() -> None:
    sink = Sink()
    sink.sender.add(4, {"a": 1}, "x")
    sink.sender.add(5, b"data: [DONE]\n\n", "y")
    assert [(step.n, step.before, step.fixes, data) for step, data in sink.sent] == [
        (4, None, ["x"], b'data: {"a":1}\n\n'),
        (5, None, ["y"], b"data: [DONE]\n\n"),
    ]
    assert sink.closed == [step for step, _ in sink.sent]
