from typing import Any

import pytest

from llm_normalize.chat.chunk import Chunk
from llm_normalize.chat.stream_state import Asked, Seen
from llm_normalize.repair.ending.finish_reasons import (
    Finish,
    finished_of,
    is_bare_finish,
)
from llm_normalize.repair.fix import calling, chunk, head
from llm_normalize.repair.outcome import Outlet, Piece, Step

STREAM = Asked(stream=True)
ON = {"finish-stop-with-calls", "finish-missing"}
STOP = chunk({}, finish="stop")
OTHER_STOP = chunk({}, finish="stop", index=1)


def both(first: Chunk, second: Chunk) -> Chunk:
    return {**first, "choices": [*first["choices"], *second["choices"]]}


class Stream:
    """The finish reasons of one stream, and what left of it."""

    def __init__(self, asked: Asked = STREAM, on: set[str] = ON) -> None:
        self.seen = Seen()
        self.sent: list[bytes] = []
        self.closed: list[Step] = []
        outlet = Outlet(lambda _, data: self.sent.append(data), self.closed.append)
        self.finish = Finish(asked, self.seen, on, outlet, lambda *_: None)

    def hold(self, held: Chunk) -> Piece:
        piece = Piece(Step(0, b"raw"), held, b"raw")
        self.finish.hold(piece)
        return piece

    def call(self, index: int = 0) -> None:
        """Note that choice *index* has called a tool."""
        self.seen.note(chunk({"tool_calls": [head()]}, index=index))


def reasons(piece: Piece) -> list[Any]:
    return [choice["finish_reason"] for choice in piece.chunk["choices"]]


# -- what a chunk finishes ---------------------------------------------------------


@pytest.mark.parametrize(
    ("finishing", "indexes"),
    [
        (STOP, {0}),
        (both(STOP, OTHER_STOP), {0, 1}),
        (both(STOP, chunk({}, index=1)), {0}),
        (chunk({"content": "Hi"}), set()),
        (chunk({}, finish=0), set()),
        (calling(head()), set()),
        (chunk(None), set()),
        ({"choices": [{"finish_reason": "stop"}]}, {0}),
    ],
)
def test_choice_is_finished_by_a_reason_in_words(
    finishing: Chunk, indexes: set[int]
) -> None:
    assert finished_of(finishing) == indexes


@pytest.mark.parametrize(
    ("finishing", "bare"),
    [
        (STOP, True),
        (both(STOP, OTHER_STOP), True),
        ({"choices": [{"index": 0, "finish_reason": "stop"}]}, True),
        ({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}, True),
        (chunk({"content": "!"}, finish="stop"), False),
        (chunk({}), False),
        (both(STOP, chunk({}, index=1)), False),
        (both(STOP, STOP), False),
    ],
)
def test_finish_is_bare_if_every_choice_has_one_and_nothing_else(
    finishing: Chunk, bare: bool
) -> None:
    assert is_bare_finish(finishing) is bare


# -- which choices have theirs -----------------------------------------------------


@pytest.mark.parametrize(
    ("opened", "finished", "n", "expected"),
    [
        (set(), set(), 1, False),
        ({0}, set(), 1, False),
        ({0}, {0}, 1, True),
        ({0, 1}, {0}, 1, False),
        ({0, 1}, {0, 1}, 1, True),
        ({0}, {0}, 2, False),
        ({0, 1}, {0, 1}, 2, True),
    ],
)
def test_all_have_finished_if_those_that_began_and_were_asked_for_have(
    opened: set[int], finished: set[int], n: int, expected: bool
) -> None:
    finish = Stream(Asked(stream=True, n=n)).finish
    finish.opened, finish.finished = opened, finished
    assert finish.all_finished is expected


def test_reason_of_a_choice_is_what_it_did() -> None:
    stream = Stream()
    stream.call(1)
    assert (stream.finish.reason(0), stream.finish.reason(1)) == ("stop", "tool_calls")


def test_reason_after_a_forced_tool_is_stop() -> None:
    stream = Stream(Asked(stream=True, tools=True, forced_tool=True))
    stream.call()
    assert stream.finish.reason(0) == "stop"


# -- the one that waits ------------------------------------------------------------


def test_finish_that_waited_leaves_as_it_came_and_once() -> None:
    stream = Stream()
    piece = stream.hold(STOP)
    assert (stream.sent, piece.step.waiting) == ([], 1)
    stream.finish.release()
    assert (stream.sent, stream.closed) == ([b"raw"], [piece.step])
    assert (stream.finish.waiting, piece.step.waiting) == (None, 0)
    stream.finish.release()
    assert stream.sent == [b"raw"]


@pytest.mark.parametrize(
    ("asked", "on", "reason", "after"),
    [
        (STREAM, ON, "stop", "tool_calls"),
        (STREAM, ON, "length", "length"),
        (STREAM, set(), "stop", "stop"),
        (Asked(stream=True, forced_tool=True), ON, "stop", "stop"),
    ],
)
def test_stop_that_waited_while_a_tool_was_called_becomes_tool_calls(
    asked: Asked, on: set[str], reason: str, after: str
) -> None:
    stream = Stream(asked, on)
    piece = stream.hold(chunk({}, finish=reason))
    stream.call()
    stream.finish.release()
    changed = after != reason
    assert reasons(piece) == [after]
    assert piece.step.fixes == (["finish-stop-with-calls"] if changed else [])
    assert (stream.sent == [b"raw"]) is not changed


def test_stop_of_a_choice_without_calls_stays_beside_one_with_them() -> None:
    stream = Stream()
    piece = stream.hold(both(chunk({}, finish="stop"), OTHER_STOP))
    stream.call(0)
    stream.finish.release()
    assert reasons(piece) == ["tool_calls", "stop"]


@pytest.mark.parametrize(
    ("first", "second", "after"),
    [
        ("stop", "length", "length"),
        ("stop", "stop", "stop"),
        ("length", "tool_calls", "length"),
        ("tool_calls", "stop", "tool_calls"),
    ],
)
def test_stop_that_waits_gives_way_to_a_more_telling_reason(
    first: str, second: str, after: str
) -> None:
    stream = Stream()
    piece = stream.hold(chunk({}, finish=first))
    stream.finish.overrule(chunk({}, finish=second), "some-fix")
    assert reasons(piece) == [after]
    assert piece.step.fixes == (["some-fix"] if after != first else [])
    assert stream.sent == []


def test_reason_of_one_choice_does_not_overrule_another_s() -> None:
    stream = Stream()
    piece = stream.hold(both(chunk({}, finish="stop"), chunk({}, finish="stop")))
    piece.chunk["choices"][1]["index"] = 1
    stream.finish.overrule(chunk({}, finish="length", index=1), "some-fix")
    assert reasons(piece) == ["stop", "length"]


def test_nothing_is_overruled_where_nothing_waits() -> None:
    stream = Stream()
    stream.finish.overrule(STOP, "some-fix")
    assert stream.finish.waiting is None
    assert stream.sent == []


# -- what was left out -------------------------------------------------------------


def test_choices_that_began_and_did_not_finish_were_left_out() -> None:
    finish = Stream().finish
    finish.opened, finish.finished = {2, 0, 1}, {1}
    assert finish.left_out() == [0, 2]


def test_after_an_error_nothing_was_left_out() -> None:
    stream = Stream()
    stream.finish.opened = {0}
    stream.seen.error = True
    assert stream.finish.left_out() == []


def test_without_its_fix_nothing_was_left_out() -> None:
    finish = Stream(on=set()).finish
    finish.opened = {0}
    assert finish.left_out() == []


def test_choices_that_are_told_apart_are_bounded() -> None:
    outlet = Outlet(lambda *_: None, lambda _: None)
    finish = Finish(Asked(), Seen(), set(), outlet, lambda *_: None)
    for index in range(3000):
        finish.open(Piece(Step(0, b""), chunk({}, index=index), b""), {index})
    assert len(finish.opened) == 1024


def test_reason_after_a_legacy_call_is_function_call() -> None:
    seen = Seen()
    seen.note(chunk({"function_call": {"name": "f", "arguments": ""}}))
    outlet = Outlet(lambda *_: None, lambda _: None)
    assert (
        Finish(Asked(), seen, set(), outlet, lambda *_: None).reason(0)
        == "function_call"
    )
    forced = Asked(forced_tool=True)
    assert Finish(forced, seen, set(), outlet, lambda *_: None).reason(0) == "stop"
