import pytest

from llm_normalize.chat.state.declared_tools import NONE
from llm_normalize.chat.tool_calls.call_records import CallRecords
from llm_normalize.chat.tool_calls.unnamed_calls import Unnamed, join_fragments


def test_fragments_are_joined() -> None:
    first = {"index": 1, "id": "a", "type": None, "function": {"arguments": "{"}}
    more = {"index": 1, "id": "b", "type": "function", "function": {"name": "f"}}
    assert join_fragments(first, more) == {
        "index": 1,
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": "{"},
    }


def test_foreign_fields_are_added_up() -> None:
    first = {"index": 0, "a": "x", "b": {"c": "y", "d": 1}, "function": {"e": [1]}}
    more = {"index": 0, "a": "z", "b": {"c": "y", "d": 2}, "function": {"e": [2]}}
    assert join_fragments(first, more) == {
        "index": 0,
        "a": "xz",
        "b": {"c": "y", "d": 1},
        "function": {"e": [1, 2], "arguments": ""},
    }


def fragment(index: int, arguments: str, **more: object) -> dict[str, object]:
    return {"index": index, **more, "function": {"arguments": arguments}}


def waiting() -> Unnamed:
    return Unnamed(CallRecords(), NONE)


def undo(unnamed: Unnamed, n: int) -> None:
    unnamed._records.undo(n)
    unnamed.undo(n)


def test_fragment_waits_for_its_name() -> None:
    unnamed = waiting()
    assert unnamed.take(0, fragment(0, "{", id="a"), 1) is None
    assert unnamed.take(0, fragment(0, "}"), 1) is None
    named = {"index": 0, "function": {"name": "f"}}
    assert unnamed.take(1, named, 1) is named
    assert unnamed.take(0, named, 1) == {
        "index": 0,
        "id": "a",
        "function": {"name": "f", "arguments": "{}"},
    }
    assert unnamed.release(None, 1) == []


def test_fragment_that_says_nothing_is_dropped() -> None:
    unnamed = waiting()
    assert unnamed.take(0, fragment(0, "", id=None), 1) is None
    assert unnamed.release(None, 1) == []


def test_foreign_field_waits_for_the_name_too() -> None:
    unnamed = waiting()
    assert unnamed.take(0, {"index": 0, "x": 5}, 1) is None
    assert unnamed.take(0, fragment(1, "", x=[1]), 1) is None
    named = {"index": 0, "function": {"name": "f", "arguments": ""}}
    assert unnamed.take(0, named, 1) == {**named, "x": 5}
    assert unnamed.release(None, 1) == [(0, fragment(1, "", x=[1]))]


def test_fragments_are_released_by_choice_once_it_ends_in_a_later_event() -> None:
    unnamed = waiting()
    unnamed.take(0, fragment(0, "a"), 1)
    unnamed.take(1, fragment(0, "b"), 1)
    assert unnamed.release({1}, 1) == []
    assert unnamed.release({2}, 2) == []
    assert unnamed.release({1}, 2) == [(1, fragment(0, "b"))]
    assert unnamed.take(1, fragment(0, "c"), 3) == fragment(0, "c")  # it has left


def test_fragments_leave_when_there_are_too_many() -> None:
    unnamed = waiting()
    unnamed.take(0, fragment(0, "a"), 1)
    assert unnamed.overflow(1) == []
    unnamed.take(0, fragment(1, "x" * 70_000), 2)
    assert [call["index"] for _, call in unnamed.overflow(2)] == [0, 1]
    assert unnamed.overflow(2) == []
    undo(unnamed, 2)
    assert unnamed.release(None, 3) == [(0, fragment(0, "a"))]


def test_fragments_with_one_id_are_one_call_whatever_their_index() -> None:
    unnamed = waiting()
    unnamed.take(0, fragment(0, "a", id="x"), 1)
    unnamed.take(0, fragment(2, "b"), 1)
    unnamed.take(0, fragment(1, "c", id="x"), 1)
    unnamed.take(0, fragment(1, "d"), 1)
    unnamed.take(0, fragment(2, "e", id="x"), 1)
    unnamed.take(0, fragment(3, "f", id="y"), 1)
    unnamed.take(0, fragment(3, "g", id="x"), 1)
    assert unnamed.release(None, 2) == [
        (0, fragment(0, "acdbeg", id="x")),
        (0, fragment(3, "f", id="y")),
    ]


def test_an_id_that_has_left_takes_what_waits_under_its_index() -> None:
    unnamed = waiting()
    assert unnamed.take(0, fragment(0, "a"), 1) is None
    call = unnamed.take(0, fragment(0, "b", id="x"), 1, opened=True)
    assert call == fragment(0, "ab", id="x")


def test_what_waited_before_an_event_waits_again_when_that_is_undone() -> None:
    unnamed = waiting()
    unnamed.take(0, fragment(0, "a", id="x"), 1)
    unnamed.take(0, fragment(0, "b"), 2)
    assert not unnamed._records.undo(3)
    undo(unnamed, 2)
    assert unnamed.take(0, fragment(1, "c", id="x"), 2) is None
    assert unnamed.release(None, 4) == [(0, fragment(0, "ac", id="x"))]


def test_what_left_before_a_finish_does_not_wait_again() -> None:
    unnamed = waiting()
    unnamed.take(0, fragment(0, "a"), 1)
    unnamed.take(1, fragment(0, "b"), 2)
    assert unnamed.release({0}, 2) == [(0, fragment(0, "a"))]
    undo(unnamed, 2)
    assert unnamed.release(None, 4) == []


def test_what_is_remembered_of_calls_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm_normalize.chat.tool_calls.unnamed_calls.MAX_TRACKED", 0)
    unnamed = waiting()
    assert unnamed.take(0, fragment(0, "a", id="x"), 1) is None
    assert unnamed.release(None, 2) == [(0, fragment(0, "a", id="x"))]


def test_a_call_of_a_custom_tool_gets_no_function() -> None:
    held = {"index": 0, "extra_content": {"s": "x"}}
    call = {"index": 0, "id": "c1", "custom": {"name": "f", "input": ""}}
    assert join_fragments(held, call) == {**call, "extra_content": {"s": "x"}}
