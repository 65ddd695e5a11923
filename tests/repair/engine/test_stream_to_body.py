import json
from collections.abc import Sequence
from typing import Any

import pytest

from llm_normalize import conformance
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine import body
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.stream_to_body import body_in, error_in
from llm_normalize.repair.fix import DONE, USAGE, chunk, wire
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import Json, dumps
from llm_normalize.wire.sse import BOM

ASKED = Asked()
OPEN = chunk({"role": "assistant", "content": "H"})
MORE = chunk({"content": "i"})
STOP = chunk({}, finish="stop")
FIGURES = chunk(None, usage=USAGE)
STREAM: list[Chunk | bytes] = [OPEN, MORE, STOP, FIGURES, DONE]
BUSY: Chunk = {"message": "Too busy", "type": "server_error", "code": "busy"}
ERROR: Chunk = {"error": {**BUSY, "param": None}}


def lines(*values: Chunk | bytes, end: bytes = b"\n") -> bytes:
    return b"".join(
        (each if isinstance(each, bytes) else dumps(each)) + end for each in values
    )


def said(data: bytes, asked: Asked = ASKED) -> Json | None:
    return body_in(data, asked, FIXES, "label")


def repaired(data: bytes, status: int = 200, asked: Asked = ASKED) -> EventRecord:
    step = repair_body(data, status, asked, FIXES, "label")
    assert step.before == data
    assert len(step.after) == 1
    again = repair_body(step.after[0], step.status or status, asked, FIXES)
    assert again.after == step.after
    return step


def answer(data: bytes, asked: Asked = ASKED) -> Json:
    """Return the body that becomes of *data*, of OpenAI's form and the same meaning."""
    step = repaired(data, asked=asked)
    out = step.after[0]
    request = conformance.Request(False, False, asked.tools, asked.forced_tool, asked.n)
    assert conformance.check_body(out, request) == []
    meant, made = conformance.meaning_of_stream(data), conformance.meaning_of_body(out)
    assert conformance.lost(meant, made) == []
    assert step.fixes[0] == "stream-in-body"
    assert step.status is None
    return json.loads(out)


def error(data: bytes, status: int = 200) -> tuple[Json, int | None]:
    """Return the error that becomes of *data*, and the status that it gets."""
    step = repaired(data, status)
    assert conformance.check_error_body(step.after[0]) == []
    assert step.fixes[0] == "stream-in-body"
    return json.loads(step.after[0])["error"], step.status


# -- what the events say -----------------------------------------------------------


@pytest.mark.parametrize(
    "events",
    [
        [{"response": "Hi"}, DONE],
        [{"result": {"response": "Hi"}, "success": True}],
        [{"result": {"response": "Hi"}, "success": True}, DONE],
    ],
)
def test_one_native_event_is_an_answer_if_nothing_can_follow(
    events: Sequence[Chunk | bytes],
) -> None:
    assert answer(wire(events))["choices"][0]["message"]["content"] == "Hi"


# -- what has no end ---------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        wire([OPEN]),
        wire([OPEN, MORE]),
        wire([OPEN, MORE])[:-30],
        wire([OPEN, MORE, STOP])[:-30],
        wire([{"response": "Hi"}]),
        lines(OPEN, MORE),
        lines(OPEN, MORE, STOP)[:-30],
        wire([OPEN, FIGURES]),
    ],
)
def test_a_stream_that_broke_off_stays_as_it_is(data: bytes) -> None:
    assert said(data) is None
    assert repaired(data).after == [data]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"\n\n",
        DONE,
        b"[DONE]",
        b"data:\n\n",
        b": ping\n\n",
        b"data: null\n\n",
        b"data: {}\n\n",
        b"{}",
        b"[]",
        b"null",
        b"404 page not found",
        b"<html><body>502</body></html>",
        b"<html>\ndata: x\n\n</html>\n",
        wire([OPEN, b"what: is this\n\n", STOP, DONE]),
        wire([FIGURES, DONE]),
        b'data: {"choices":[]}\n\ndata: [DONE]\n\n',
        b"\xff\xfe",
    ],
)
def test_what_is_not_understood_stays_as_it_is(data: bytes) -> None:
    assert said(data) is None
    step = repaired(data)
    assert (step.after, step.fixes, step.status) == ([data], [], None)


# -- errors ------------------------------------------------------------------------

NAMED = b"event: error\ndata: " + dumps(BUSY) + b"\n\n"
FRAMES = [
    wire([{"error": BUSY}]),
    wire([{"error": BUSY}, DONE]),
    wire([BUSY]),
    wire([[{"error": BUSY}]]),  # type: ignore[list-item]
    NAMED,
    NAMED.replace(b"\n", b"\r\n"),
    NAMED.rstrip(b"\n"),
    b"event:error\ndata:" + dumps(BUSY) + b"\n\n",
    b"id:1\nevent:error\n:HTTP_STATUS/429\ndata:" + dumps(BUSY) + b"\n\n",
    b": ping\n\n" + wire([{"error": BUSY}, DONE]),
    b"event: error\n" + wire([{"error": BUSY}, DONE]),
    dumps({"error": BUSY}) + b"\n\n" + DONE,
    dumps({"error": BUSY}) + b"\n[DONE]\n",
    BOM + dumps({"error": BUSY}) + b"\n\n" + DONE,
    BOM + NAMED,
]


@pytest.mark.parametrize("data", FRAMES)
def test_an_error_among_events_is_the_answer(data: bytes) -> None:
    assert error(data) == (ERROR["error"], 503)


def test_the_first_of_several_errors_is_the_answer() -> None:
    later = {"error": {**BUSY, "message": "Gone"}}
    assert error(wire([OPEN, {"error": BUSY}, later]))[0] == ERROR["error"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", None),
        (b"\n\n", None),
        (DONE, None),
        (b"data:\n\n", None),
        (b": ping\n\n", None),
        (b"event: error\n\n", None),
        (b"404 page not found", None),
        (b"data: 7\n\n", 7),
        (b"data:\n\ndata: 7\n\n", 7),
        (b"data: null\n\n", None),
        (b"data: \xff\n\n", "\N{REPLACEMENT CHARACTER}"),
        (b"[DONE]\n{}\n", {}),
    ],
)
def test_an_error_is_the_first_data(data: bytes, said: Json) -> None:
    assert error_in(data) == said


def test_a_bug_leaves_the_stream_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(body, "body_in", fail)
    step = repair_body(wire(STREAM), 200, ASKED, FIXES, "label")
    assert (step.after, step.fixes) == ([wire(STREAM)], [])
    said = "label: fix stream-in-body failed and is off for this answer"
    assert caplog.messages == [said]
