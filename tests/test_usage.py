import pytest

from llm_normalize.fix import USAGE, chunk
from llm_normalize.step import Piece, Step
from llm_normalize.stream_state import Asked
from llm_normalize.usage import Usage, usage_of

ON = {"usage-every-chunk", "usage-with-choices", "usage-repeated"}
ASKED = Asked(stream=True, usage=True)
NOT_ASKED = Asked(stream=True)


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
    usage, part = Usage(asked, ON), piece()
    assert usage.take_off(part, finishes=finishes, last=last)
    assert part.step.fixes == [fix]
    assert (usage.kept, usage.fix, usage.sent) == (USAGE, fix, False)
    assert part.chunk.get("usage", "gone") == (None if asked.usage else "gone")


def test_usage_that_was_not_asked_for_stays_with_the_last_finish() -> None:
    usage, part = Usage(NOT_ASKED, ON), piece()
    assert not usage.take_off(part, finishes=True, last=True)
    assert usage.sent
    assert part.chunk["usage"] == USAGE
    assert usage.take_off(piece(), finishes=True, last=True)


def test_skipped_fix_takes_nothing_off() -> None:
    usage, part = Usage(ASKED, set()), piece()
    assert not usage.take_off(part, finishes=False, last=False)
    assert part.raw == b""


def test_chunk_without_usage_is_left_alone() -> None:
    part = Piece(Step(0, b""), chunk({}, usage=None), b"")
    assert not Usage(ASKED, ON).take_off(part, finishes=True, last=True)


def test_later_figures_replace_earlier_until_they_are_sent() -> None:
    usage = Usage(NOT_ASKED, ON)
    usage.keep({"usage": {"total_tokens": 1}}, "a")
    usage.keep({"usage": {"total_tokens": 2}}, "b")
    target: dict[str, object] = {}
    usage.ride(target)
    assert target == {"usage": {"total_tokens": 2}}
    assert (usage.kept, usage.sent, usage.fix) == (None, True, "b")
    usage.keep({"usage": {"total_tokens": 3}}, "c")
    assert usage.kept is None
