import pytest

from llm_normalize.chat.state.stream_state import Asked
from llm_normalize.repair.fix import chunk, wire
from streams import feed

TOOLS = Asked(stream=True, tools=True, legacy=True)
NULL = chunk({"role": "assistant", "content": None})
EMPTY = chunk({"role": "assistant", "content": ""})
HEAD = {"index": 0, "id": "c", "type": "function"}
CALL = chunk({"tool_calls": [{**HEAD, "function": {"name": "f", "arguments": ""}}]})


def test_opening_waits_for_one_event_and_stays_null_before_a_call() -> None:
    assert feed([wire([NULL]), wire([CALL])], TOOLS, ended=False) == [
        b"",
        wire([NULL, CALL]),
    ]


@pytest.mark.parametrize(
    "following",
    [
        chunk({"content": "Hi"}),
        chunk({"reasoning_content": "Hm"}),
        chunk(None),
        chunk({"role": "assistant", "content": ""}, index=1),
        chunk({}, finish="stop"),
    ],
)
def test_opening_becomes_a_texts_before_anything_else(following: object) -> None:
    out = feed([wire([NULL]), wire([following])], TOOLS)  # type: ignore[list-item]
    assert out[0] == b""
    assert (out[1] + out[2]).startswith(wire([EMPTY]))
