import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.continuation import Continuation, continuation_of
from llm_normalize.repair.fix import USAGE, calling, chunk, rest

TEXT = {"content": "Hi"}


@pytest.mark.parametrize(
    ("delta", "answers", "thinks"),
    [
        (TEXT, True, False),
        ({"reasoning": "Hm"}, False, True),
        ({"reasoning_content": "Hm", "content": None}, False, True),
        ({"reasoning_content": "Hm", **TEXT}, True, True),
        ({"refusal": "No"}, True, False),
        ({"content": ""}, False, False),
        ({}, False, False),
        ({"role": None, "tool_calls": [], **TEXT}, True, False),
    ],
)
def test_text_goes_on(delta: Chunk, *, answers: bool, thinks: bool) -> None:
    found = continuation_of(chunk(delta, usage=None))
    assert found == Continuation(answers, thinks)


TWO = [{"index": at, "delta": TEXT, "finish_reason": None} for at in (0, 1)]


@pytest.mark.parametrize(
    "other",
    [
        chunk({"role": "assistant", **TEXT}),
        chunk(TEXT, finish="stop"),
        chunk(TEXT, usage=USAGE),
        chunk(None),
        chunk(None, choices=TWO),
        chunk(TEXT, choice={"message": None}),
        chunk(TEXT, choice={"index": None}),
        chunk(TEXT, choice={"index": True}),
        chunk({}, choice={"delta": "Hi"}),
        chunk({}, choice={"error": {"message": "No"}}),
        chunk(TEXT, error=None),
        chunk({"function_call": {"arguments": "{"}}),
        calling(rest()),
        {"usage": USAGE},
    ],
)
def test_what_begins_ends_counts_calls_or_fails_does_not(other: Chunk) -> None:
    assert continuation_of(other) is None
