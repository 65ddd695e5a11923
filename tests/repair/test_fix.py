from llm_normalize.chat.state.stream_state import Asked, Seen
from llm_normalize.repair.fix import (
    DONE,
    Example,
    Fix,
    calling,
    chunk,
    completion,
    head,
    rest,
    wire,
)
from llm_normalize.wire.sse import Event


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
    assert fix.edit({}) is None
    assert fix.body({}) is False
    assert fix.error({}, 400) is None


def test_chunk_of_a_plain_delta_has_the_keys_that_openai_always_sends() -> None:
    assert chunk({"content": "x"})["choices"] == [
        {"index": 0, "delta": {"content": "x"}, "finish_reason": None}
    ]


def test_error_example_brings_its_status() -> None:
    made = Example.of_error("a", 503, b"<html>", {"error": {}})
    assert (made.kind, made.status, made.changes) == ("error", 503, True)


def test_fragments_of_a_call_have_an_index_unless_it_is_left_out() -> None:
    assert head(1, "{}", id="x") == {
        "index": 1,
        "id": "x",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
    }
    assert rest(1) == {"index": 1, "function": {"arguments": "{}"}}
    assert "index" not in head(None)
    assert rest(None, "a") == {"function": {"arguments": "a"}}


def test_calling_chunk_holds_its_fragments_in_order() -> None:
    (choice,) = calling(head(), rest())["choices"]
    assert choice["delta"] == {"tool_calls": [head(), rest()]}
