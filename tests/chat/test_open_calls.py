import pytest

from llm_normalize.chat.stream_state import MAX_TRACKED
from llm_normalize.chat.tool_calls.open_calls import (
    AssignedIndexes,
    IndexMap,
    OpenCalls,
)
from llm_normalize.chat.tool_calls.sent_call import Call


def test_calls_are_found_by_index_and_by_id() -> None:
    calls = {0: Call("a", "f"), 3: Call("b", "f"), 1: Call("a", "f")}
    opened = OpenCalls(calls)
    assert (opened.last, opened.get(3), opened.get(2)) == (3, calls[3], None)
    for _ in range(3):  # however often they are asked for
        assert opened.where("a") == [0, 1]
        assert opened.where("c") == []
    assert (OpenCalls({}).last, OpenCalls({}).where("a")) == (-1, [])


def test_calls_of_the_chunk_come_after_those_before_it() -> None:
    calls = {0: Call("a", "f")}
    opened = OpenCalls(calls)
    opened.add(0, Call("b", "f"))
    opened.add(5, Call("a", "f"))
    assert [opened.where("a"), opened.where("a"), opened.where("b")] == [
        [0, 5],
        [0, 5],
        [],
    ]
    opened.add(2, Call("b", "f"))
    assert (opened.where("b"), opened.last, list(calls)) == ([2], 5, [0])


def test_ids_that_are_no_texts_are_distinguished() -> None:
    opened = OpenCalls({0: Call([1], "f"), 1: Call({"a": 1}, "f"), 2: Call(7, "f")})
    for _ in range(2):
        found = [opened.where(each) for each in ([1], {"a": 1}, 7, [2])]
        assert found == [[0], [1], [2], []]


def test_a_place_is_new_until_a_call_has_come_under_it() -> None:
    moved = IndexMap()
    assert moved.get((0, 4)) == 4
    assert moved.note((0, 0), 1)
    assert moved.get((0, 0)) == 1
    assert [moved.is_new((0, at)) for at in (0, 1)] == [False, True]
    assert moved.note((0, 1), 1)
    assert not moved.is_new((0, 1))
    assert moved.is_new((1, 1))


def test_a_call_is_found_by_its_place_and_the_id_it_came_with() -> None:
    moved = IndexMap()
    for ours, identity in enumerate(("a", "b", [1])):
        moved.open((0, 1), identity, ours)
    assert [moved.find((0, 1), each) for each in ("b", [1], "a")] == [1, 2, 0]
    assert moved.find((0, 0), "a") is moved.find((0, 1), "c") is None


def test_a_call_that_was_moved_moves_on_among_too_many() -> None:
    moved = IndexMap()
    assert all(moved.note((0, at), at + 1) for at in range(MAX_TRACKED))
    assert moved.note((0, 3), 4)
    assert moved.note((0, 3), 2000)
    assert moved.get((0, 3)) == 2000


def test_calls_without_an_index_get_none_that_the_provider_gave() -> None:
    counted = AssignedIndexes()
    assert counted.open(0, 0, "a", is_named=True) == 0
    assert counted.given((0, 1), "b", is_named=True) == 1
    assert counted.given((1, 7), None, is_named=True) == 7
    opened = [counted.open(0, 1, each, is_named=True) for each in "cd"]
    assert opened == [2, 3]
    assert [counted.find(0, each) for each in "abcd"] == [0, 1, 2, 3]
    assert counted.find(1, "a") is None
    assert [counted.last(index) for index in range(3)] == [3, 7, None]
    counted.given((0, 1), None, is_named=False)
    assert counted.last(0) == 3


def test_an_index_that_a_call_without_one_has_is_moved() -> None:
    counted = AssignedIndexes()
    assert counted.open(0, 0, "a", is_named=False) == 0
    assert counted.lacks_name((0, 0))
    assert counted.given((0, 0), "b", is_named=True) == 1
    assert counted.given((0, 1), None, is_named=False) == 2  # what had it before
    assert counted.given((0, 0), None, is_named=False) == 1
    assert counted.goes_on(0, 0, None, is_named=True) == 0
    assert not counted.lacks_name((0, 0))
    assert counted.open(0, 1, "c", is_named=True) == 3


@pytest.mark.parametrize("identity", [None, "a"])
def test_an_index_may_be_that_of_a_call_without_one(identity: str | None) -> None:
    counted = AssignedIndexes()
    counted.open(0, 0, "a", is_named=False)
    assert counted.given((0, 0), identity, is_named=True) == 0


def test_counted_calls_are_bounded() -> None:
    counted = AssignedIndexes()
    for at in range(MAX_TRACKED + 1):
        assert counted.given((0, at), "a", is_named=True) == at
        counted.given((at, 0), at or None, is_named=True)
    assert counted.last(MAX_TRACKED) is None
    assert counted.find(MAX_TRACKED, MAX_TRACKED) is None
    for at in range(MAX_TRACKED + 1):
        counted.open(0, at, None, is_named=True)
    assert counted.open(0, 2 * MAX_TRACKED, None, is_named=True) == 2 * MAX_TRACKED
    assert not counted.lacks_name((0, 2 * MAX_TRACKED))


def test_moved_calls_are_bounded() -> None:
    moved = IndexMap()
    assert [moved.note((0, at), at + 1) for at in range(MAX_TRACKED + 1)].count(
        False
    ) == 1
    assert moved.get((0, MAX_TRACKED)) == MAX_TRACKED
    assert not moved.is_new((0, MAX_TRACKED))  # nobody knows
    for at in range(MAX_TRACKED + 1):
        moved.open((0, at), "a", at)
    assert [moved.find((0, at), "a") for at in (MAX_TRACKED - 1, MAX_TRACKED)] == [
        MAX_TRACKED - 1,
        None,
    ]
