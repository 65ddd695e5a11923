from llm_normalize.fix import DONE, Example, Fix, chunk, completion, wire
from llm_normalize.sse import Event
from llm_normalize.stream_state import Asked, Seen


def test_wire_frames_chunks_and_keeps_raw_bytes() -> None:
    assert wire([{"a": 1}, DONE]) == b'data: {"a":1}\n\ndata: [DONE]\n\n'


def test_chunk_puts_finish_index_and_logprobs_into_its_choice() -> None:
    made = chunk({}, finish="stop", index=2, logprobs=None, usage=None)
    assert made["choices"] == [
        {"index": 2, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    ]
    assert made["usage"] is None
    assert chunk(None)["choices"] == []


def test_completion_does_not_share_its_usage() -> None:
    first = completion({"content": "x"})
    first["usage"]["total_tokens"] = 99
    assert completion({"content": "x"})["usage"]["total_tokens"] == 5


def test_example_knows_whether_it_changes() -> None:
    assert Example("a", [b"x"], [b"y"]).changes
    assert not Example.untouched("a", [b"x"]).changes
    assert Example.of_body("a", {}, {"a": 1}).kind == "body"


def test_fix_does_nothing_by_default() -> None:
    class Idle(Fix):
        name = "idle"

    fix = Idle(Asked(), Seen())
    assert fix.event(Event(b"\n", 0)) is None
    assert fix.edit({}) is False
    assert fix.replace({}) is None
    assert fix.body({}) is False
    assert fix.error({}, 400) is None
