import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.stream_state import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import DONE, USAGE, chunk, wire
from streams import feed, repaired

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


def test_opening_becomes_a_texts_at_the_end_and_before_done() -> None:
    assert repaired(wire([NULL]), TOOLS) == wire([EMPTY])
    assert repaired(wire([NULL, DONE]), TOOLS).startswith(wire([EMPTY]))
    raw = b"note: hello\n\n"
    assert repaired(wire([NULL]) + raw, TOOLS) == wire([EMPTY]) + raw


@pytest.mark.parametrize(
    "opening",
    [
        chunk({"role": "assistant", "content": None, "reasoning_content": "Hm"}),
        chunk({"role": "assistant", "content": ""}),
        chunk({"role": "assistant"}),
        chunk({"role": "assistant", "content": None}, finish="stop", usage=USAGE),
    ],
)
def test_nothing_else_waits(opening: object) -> None:
    assert feed([wire([opening])], TOOLS, ended=False) != [b""]  # type: ignore[list-item]


def both(*choices: Chunk) -> Chunk:
    """Return one chunk with the choices of several."""
    parts = [each["choices"][0] for each in choices]
    return {**choices[0], "choices": parts}


def test_choices_that_open_together_are_settled_one_by_one() -> None:
    other = chunk({"role": "assistant", "content": None}, index=1)
    text = chunk({"content": "Hi"}, index=1)
    out = feed(
        [wire([both(NULL, other)]), wire([both(CALL, text)])], TOOLS, ended=False
    )
    empty = chunk({"role": "assistant", "content": ""}, index=1)
    assert out == [b"", wire([both(NULL, empty), both(CALL, text)])]


def test_opening_stays_null_and_does_not_wait_where_its_fix_is_skipped() -> None:
    fixes = [fix for fix in FIXES if fix.name != "content-null"]
    assert feed([wire([NULL])], TOOLS, fixes, ended=False) == [wire([NULL])]
