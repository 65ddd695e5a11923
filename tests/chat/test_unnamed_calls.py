from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.declared_tools import NONE
from llm_normalize.chat.state.sent_call import SentCalls
from llm_normalize.chat.tool_calls.open_calls import OpenCalls
from llm_normalize.chat.tool_calls.unnamed_calls import Unnamed, join_fragments


def fragment(index: int, arguments: str, **more: object) -> Chunk:
    return {"index": index, **more, "function": {"arguments": arguments}}


class Waiting:
    """The calls of a choice of which nothing was sent."""

    def __init__(self) -> None:
        self.calls = OpenCalls(NONE)
        self.unnamed = Unnamed(self.calls)

    def take(self, call: Chunk, n: int) -> Chunk | None:
        base = self.calls.find(0, call, SentCalls(), moves=True)
        return self.unnamed.take(base, call, n)

    def overflow(self, n: int) -> list[Chunk]:
        return [call for _, call in self.unnamed.overflow(n)]

    def release(self, n: int) -> list[Chunk]:
        return [call for _, call in self.unnamed.release(None, n)]

    def undo(self, n: int) -> None:
        self.calls.undo(n)
        self.unnamed.undo(n)


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
    unnamed = Waiting()
    unnamed.take(fragment(0, "a"), 1)
    assert unnamed.overflow(1) == []
    unnamed.take(fragment(1, "x" * 70_000), 2)
    assert [call["index"] for call in unnamed.overflow(2)] == [0, 1]
    assert unnamed.overflow(2) == []
    unnamed.undo(2)
    assert unnamed.release(3) == [fragment(0, "a")]


def test_fragments_with_one_id_are_one_call_whatever_their_index() -> None:
    unnamed = Waiting()
    unnamed.take(fragment(0, "a", id="x"), 1)
    unnamed.take(fragment(2, "b"), 1)
    unnamed.take(fragment(1, "c", id="x"), 1)
    unnamed.take(fragment(1, "d"), 1)
    unnamed.take(fragment(2, "e", id="x"), 1)
    unnamed.take(fragment(3, "f", id="y"), 1)
    unnamed.take(fragment(3, "g", id="x"), 1)
    assert unnamed.release(2) == [
        fragment(0, "acdbeg", id="x"),
        fragment(3, "f", id="y"),
    ]


def test_what_waited_before_an_event_waits_again_when_that_is_undone() -> None:
    unnamed = Waiting()
    unnamed.take(fragment(0, "a", id="x"), 1)
    unnamed.take(fragment(0, "b"), 2)
    assert not unnamed.calls.undo(3)
    unnamed.undo(2)
    assert unnamed.take(fragment(1, "c", id="x"), 2) is None
    assert unnamed.release(4) == [fragment(0, "ac", id="x")]
