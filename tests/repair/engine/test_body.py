from collections.abc import Sequence
from typing import Any

import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import Fix, completion
from llm_normalize.repair.look import Finding
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import Json, dumps, loads

BODY = completion({"role": "assistant", "content": "Hi"})


class Renames(Fix):
    name = "renames"

    def body(self, body: Chunk) -> bool:
        if body["model"] == "right":
            return False
        body["model"] = "right"
        return True

    def error(self, body: Json, status: int) -> Chunk | None:
        if isinstance(body, dict) and "error" in body:
            return None
        return {"error": {"message": body, "code": status}}


class Counts(Fix):
    name = "counts"

    def body(self, body: Chunk) -> bool:
        body["n"] = body.get("n", 0) + 1
        return True


class Rides(Fix):
    name = "rides"
    handles = Finding.LEFT_NULL

    def body(self, body: Chunk) -> bool:
        body["rode"] = True
        return True


class Fails(Fix):
    name = "fails"

    def body(self, body: Chunk) -> bool:
        body["model"] = "half changed"
        raise RuntimeError

    def error(self, body: Json, status: int) -> Chunk | None:
        raise RuntimeError


class FailsToStart(Fix):
    name = "fails-to-start"

    def __init__(self, *_: Any) -> None:
        raise RuntimeError

    def body(self, body: Chunk) -> bool:
        return False


def repaired(
    data: bytes, fixes: Sequence[type[Fix]], status: int = 200, **asked: Any
) -> EventRecord:
    step = repair_body(data, status, Asked(**asked), fixes, "label")
    assert (step.n, step.before, len(step.after)) == (0, data, 1)
    return step


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"text",
        b"\xff",
        b"[]",
        b'"choices"',
        b"null",
        b'{"model":"x"}',
        b'{"model":"x","choices":null}',
        b'{"choices":[],"model":"x","model":"y"}',
        b'{"choices":[],"model":NaN}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_not_understood_stays(data: bytes) -> None:
    step = repaired(data, [Renames, *FIXES])
    assert (step.after, step.fixes) == ([data], [])


def test_a_fix_that_fails_is_left_out_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    step = repaired(dumps(BODY), [Counts, Fails, FailsToStart, Rides])
    assert step.fixes == ["counts", "rides"]
    assert step.after == [dumps({**BODY, "n": 1, "rode": True})]
    assert [each.getMessage() for each in caplog.records] == [
        "label: fix fails failed and is off for this answer",
        "label: fix fails-to-start failed and is off for this answer",
    ]


@pytest.mark.parametrize(
    ("word", "status"), [("error", 500), ("engine_overloaded", 503), ("timeout", 504)]
)
def test_a_failure_as_the_finish_reason_of_nothing_is_an_error(
    word: str, status: int
) -> None:
    silent = completion({"role": "assistant", "content": ""}, finish=word)
    step = repaired(dumps(silent), FIXES)
    assert step.status == status
    assert word in loads(step.after[0])["error"]["message"]


HOLLOW = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}


def test_call_that_says_nothing_is_no_call_and_ends_no_turn() -> None:
    said = {"role": "assistant", "content": "Hi", "tool_calls": [HOLLOW]}
    record = repair_body(dumps(completion(said)), 200, Asked(tools=True), FIXES)
    assert record.after == [dumps(BODY)]
