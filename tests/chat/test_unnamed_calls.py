from llm_normalize.chat.state.declared_tools import NONE
from llm_normalize.chat.tool_calls.call_records import CallRecords
from llm_normalize.chat.tool_calls.unnamed_calls import Unnamed, join_fragments


def fragment(index: int, arguments: str, **more: object) -> dict[str, object]:
    return {"index": index, **more, "function": {"arguments": arguments}}


def waiting() -> Unnamed:
    return Unnamed(CallRecords(), NONE)


def undo(unnamed: Unnamed, n: int) -> None:
    unnamed._records.undo(n)
    unnamed.undo(n)


def test_foreign_fields_are_added_up() -> None:
    first = {"index": 0, "a": "x", "b": {"c": "y", "d": 1}, "function": {"e": [1]}}
    more = {"index": 0, "a": "z", "b": {"c": "y", "d": 2}, "function": {"e": [2]}}
    assert join_fragments(first, more) == {
        "index": 0,
        "a": "xz",
        "b": {"c": "y", "d": 1},
        "function": {"e": [1, 2], "arguments": ""},
    }


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


def test_what_waited_before_an_event_waits_again_when_that_is_undone() -> None:
    unnamed = waiting()
    unnamed.take(0, fragment(0, "a", id="x"), 1)
    unnamed.take(0, fragment(0, "b"), 2)
    assert not unnamed._records.undo(3)
    undo(unnamed, 2)
    assert unnamed.take(0, fragment(1, "c", id="x"), 2) is None
    assert unnamed.release(None, 4) == [(0, fragment(0, "ac", id="x"))]
