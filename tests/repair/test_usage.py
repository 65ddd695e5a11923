import pytest

from llm_normalize.chat.chunk import usage_of
from llm_normalize.chat.stream_state import Asked, Seen
from llm_normalize.repair.ending.finish_reasons import Finish
from llm_normalize.repair.ending.usage import Usage
from llm_normalize.repair.fix import USAGE, chunk
from llm_normalize.repair.outcome import Outlet, Piece, Step

ON = {"usage-every-chunk", "usage-with-choices", "usage-repeated"}
ASKED = Asked(stream=True, usage=True)
NOT_ASKED = Asked(stream=True)


def made(asked: Asked, on: set[str] = ON) -> Usage:
    outlet = Outlet(lambda *_: None, lambda _: None)
    finish = Finish(asked, Seen(), on, outlet, lambda *_: None)
    return Usage(asked, on, finish, outlet)


def piece() -> Piece:
    return Piece(Step(0, b""), chunk({}, usage=dict(USAGE)), b"")


@pytest.mark.parametrize("value", [None, {}, 0])
def test_usage_that_says_nothing_is_none(value: object) -> None:
    assert usage_of({"usage": value}) is None
    assert usage_of({}) is None


@pytest.mark.parametrize(
    ("asked", "finishes", "last", "fix"),
    [
        (ASKED, False, False, "usage-every-chunk"),
        (ASKED, True, True, "usage-with-choices"),
        (ASKED, True, False, "usage-with-choices"),
        (NOT_ASKED, False, False, "usage-every-chunk"),
        (NOT_ASKED, True, False, "usage-every-chunk"),
    ],
)
def test_usage_is_taken_off_where_openai_has_none(
    asked: Asked, finishes: bool, last: bool, fix: str
) -> None:
    usage, part = made(asked), piece()
    assert usage.take_off(part, finishes=finishes, last=last)
    assert part.step.fixes == [fix]
    assert (usage.kept, usage.fix, usage.sent) == (USAGE, fix, False)
    assert part.chunk.get("usage", "gone") == (None if asked.usage else "gone")


def test_usage_that_was_not_asked_for_stays_with_the_last_finish() -> None:
    usage, part = made(NOT_ASKED), piece()
    assert not usage.take_off(part, finishes=True, last=True)
    assert usage.sent
    assert part.chunk["usage"] == USAGE
    assert usage.take_off(piece(), finishes=True, last=True)


def test_skipped_fix_takes_nothing_off() -> None:
    usage, part = made(ASKED, set()), piece()
    assert not usage.take_off(part, finishes=False, last=False)
    assert part.raw == b""


def test_chunk_without_usage_is_left_alone() -> None:
    part = Piece(Step(0, b""), chunk({}, usage=None), b"")
    assert not made(ASKED).take_off(part, finishes=True, last=True)


def test_later_figures_replace_earlier_until_they_are_sent() -> None:
    usage = made(NOT_ASKED)
    usage.keep({"usage": {"total_tokens": 1}}, "a")
    usage.keep({"usage": {"total_tokens": 2}}, "b")
    target: dict[str, object] = {}
    usage.ride(target)
    assert target == {"usage": {"total_tokens": 2}}
    assert (usage.kept, usage.sent, usage.fix) == (None, True, "b")
    usage.keep({"usage": {"total_tokens": 3}}, "c")
    assert usage.kept is None


def test_zeros_replace_no_figures() -> None:
    usage = made(NOT_ASKED)
    usage.keep({"usage": {"total_tokens": 0}}, "a")
    assert usage.kept == {"total_tokens": 0}
    usage.keep({"usage": {"total_tokens": 2}}, "b")
    usage.keep({"usage": {"total_tokens": 0}}, "c")
    assert (usage.kept, usage.fix) == ({"total_tokens": 2}, "b")
