"""Chunks that go on with what a choice has begun: nearly all of a stream."""

from typing import NamedTuple

from .chunks.chunk import Chunk, choices
from .errors.chunk_errors import may_fail

ANSWER = ("content", "tool_calls", "function_call", "refusal", "audio")
THOUGHT = ("reasoning_content", "reasoning")
_BEGINNINGS = ("role", "tool_calls", "function_call")


class Continuation(NamedTuple):
    """What a chunk brings that goes on with one choice.

    Attributes:
        answers: Whether it has a text, or the like, of the answer.
        thinks: Whether it has reasoning.
    """

    answers: bool
    thinks: bool


def continuation_of(chunk: Chunk) -> Continuation | None:
    """Return what *chunk* brings if it is no more than the next text, or so, of a choice.

    Nothing begins, ends or fails with it, no call is in it, and nothing is counted. It is
    the same for all chunks of a shape (chat/chunks/chunk_shape.py).
    """
    found = choices(chunk)
    if len(found) != 1 or chunk.get("usage") or may_fail(chunk):
        return None
    choice, delta = found[0], found[0].get("delta")
    if type(choice.get("index")) is not int or not isinstance(delta, dict):
        return None
    if "message" in choice or choice.get("finish_reason"):
        return None
    if any(map(delta.get, _BEGINNINGS)):
        return None
    return Continuation(any(map(delta.get, ANSWER)), any(map(delta.get, THOUGHT)))
