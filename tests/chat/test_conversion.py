import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.quirks import Answer, answers, bodies
from llm_normalize import conformance
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.conversion import body_of, chunks_of, counts
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import USAGE, chunk, completion, wire
from llm_normalize.wire.json_text import dumps
from streams import repaired
from workshop.judged import asked_of, request_of

TOKEN: Chunk = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}
CALL: Chunk = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a":1}'},
}
OTHER: Chunk = {**CALL, "id": "call_2", "function": {"name": "g", "arguments": "{}"}}
PLACE = {"start_index": 0, "end_index": 2, "title": "T", "url": "https://x"}
CITED: Chunk = {"type": "url_citation", "url_citation": PLACE}
AUDIO: Chunk = {"id": "a", "data": "AAAA", "transcript": "Hi", "expires_at": 18}


def said(**message: Any) -> Chunk:
    return completion({"role": "assistant", "content": "Hi", **message})


def with_choice(body: Chunk, **more: Any) -> Chunk:
    return {**body, "choices": [{**body["choices"][0], **more}]}


def finished(reason: str, **message: Any) -> Chunk:
    return with_choice(said(**message), finish_reason=reason)


def deltas_of(body: Chunk) -> list[Chunk]:
    return [each["choices"][0]["delta"] for each in chunks_of(body) if each["choices"]]


def there_and_back(body: Chunk, asked: Asked | None = None) -> Chunk:
    """Return the body of the chunks that leave for *body*."""
    asked = asked or Asked(stream=True, usage=True)
    out = repaired(wire(chunks_of(copy.deepcopy(body))), asked)
    lines = [line for line in out.split(b"\n\n") if line.startswith(b"data: {")]
    return body_of(json.loads(line[6:]) for line in lines)


# -- a body to chunks --------------------------------------------------------------


def test_parts_come_in_the_order_of_openai_whatever_theirs() -> None:
    calls = {"tool_calls": [CALL], "audio": AUDIO, "function_call": CALL["function"]}
    texts = {"refusal": "no", "content": "Hi", "reasoning_content": "so", "x_more": 0}
    body = completion({**calls, "annotations": [CITED], **texts})
    assert [" ".join(delta) for delta in deltas_of(body)] == [
        "role content", "reasoning_content x_more", "content", "refusal", "annotations",
        "audio", "tool_calls", "function_call", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "forced", "reason"),
    [
        ({"content": "Hi"}, False, "stop"),
        ({"tool_calls": [CALL]}, False, "tool_calls"),
        ({"tool_calls": []}, False, "stop"),
        ({"function_call": CALL["function"]}, False, "function_call"),
        ({"tool_calls": [CALL]}, True, "stop"),
        ({"function_call": CALL["function"]}, True, "stop"),
    ],
)
@pytest.mark.parametrize("finish", [None, ""])
def test_a_missing_reason_is_what_the_message_implies(
    message: Chunk, forced: bool, reason: str, finish: str | None
) -> None:
    body = completion(message, finish=finish)
    assert chunks_of(body, forced=forced)[-1] == chunk({}, finish=reason, usage=USAGE)
    body = completion(message, finish="length")
    end = chunk({}, finish="length", usage=USAGE)
    assert chunks_of(body, forced=forced)[-1] == end


@pytest.mark.parametrize("key", ["content", "refusal"])
def test_log_probabilities_stand_beside_what_they_are_of(key: str) -> None:
    logprobs = {"content": None, "refusal": None, key: [TOKEN]}
    said = {"role": "assistant", "content": None, "reasoning_content": "so"}
    message = {**said, key: "Hi"}
    chunks = chunks_of(with_choice(completion(message), logprobs=logprobs))
    found = [each["choices"][0] for each in chunks if each["choices"]]
    assert [choice.get("logprobs") for choice in found] == [None, None, logprobs, None]
    assert found[2]["delta"] == {key: "Hi"}


def test_keys_that_openai_does_not_define_are_kept_at_each_level() -> None:
    body = with_choice(
        {**said(x_message=[1]), "citations": ["https://x"], "x_null": None},
        stop_reason="eos",
        text="Hi",
    )
    body["usage"]["x_usage"] = 1
    first, *more = chunks_of(body)
    assert (first["citations"], first["x_null"]) == (["https://x"], None)
    assert not any("citations" in each for each in more)
    assert {"x_message": [1]} in deltas_of(body)
    finish = more[-1]["choices"][0]
    assert finish["stop_reason"] == "eos"
    assert "text" not in finish
    assert more[-1]["usage"]["x_usage"] == 1


LONG_TEXT = "Salt and wind, and a long way to go before the harbour is in sight again."


def test_a_long_text_comes_in_pieces() -> None:
    found = [delta.get("content") for delta in deltas_of(said(content=LONG_TEXT))]
    assert found == [
        "",
        "Salt and wind, and a long way to",
        " go before the harbour is in sight",
        " again.",
        None,
    ]


@pytest.mark.parametrize("keys", [["reasoning"], ["reasoning", "reasoning_content"]])
def test_reasoning_comes_in_pieces_under_each_of_its_names(keys: list[str]) -> None:
    body = said(x_more=1, **dict.fromkeys(keys, LONG_TEXT))
    first, *more = deltas_of(body)[1:-2]
    assert first.pop("x_more") == 1
    assert [set(delta) for delta in (first, *more)] == [set(keys)] * 3
    for key in keys:
        assert "".join(delta[key] for delta in (first, *more)) == LONG_TEXT
    message = there_and_back(body)["choices"][0]["message"]
    assert message["reasoning_content"] == LONG_TEXT


def test_a_text_with_log_probabilities_stays_whole() -> None:
    body = with_choice(said(content=LONG_TEXT), logprobs={"content": [TOKEN]})
    assert {"content": LONG_TEXT} in deltas_of(body)


def test_lists_are_joined_and_other_values_replaced() -> None:
    first = chunk({"annotations": [CITED], "x": 1, "y": {"index": 3, "z": "a"}})
    second = chunk({"annotations": [CITED], "x": 2, "y": {"z": "b"}})
    body = body_of([first, second])
    message = body["choices"][0]["message"]
    assert message["annotations"] == [CITED, CITED]
    assert (message["x"], message["y"]) == (2, {"index": 3, "z": "ab"})


# -- there and back ----------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        said(),
        said(refusal=None),
        said(reasoning_content="so"),
        said(content=None, refusal="no"),
        finished("tool_calls", content=None, tool_calls=[CALL, OTHER]),
        finished("tool_calls", tool_calls=[CALL]),
        finished("function_call", content=None, function_call=CALL["function"]),
        said(content=None, audio=AUDIO),
        said(annotations=[CITED]),
        with_choice(said(), logprobs={"content": [TOKEN], "refusal": None}),
        {**said(), "citations": ["https://x"]},
        with_choice(said(), matched_stop=151645),
        finished("content_filter", content=""),
    ],
)
def test_a_body_comes_back_from_its_chunks(body: Chunk) -> None:
    back = there_and_back(body)
    expected = with_choice(body, logprobs=body["choices"][0].get("logprobs"))
    expected["choices"][0]["message"] = {
        key: each
        for key, each in expected["choices"][0]["message"].items()
        if each is not None or key == "content"
    }
    assert back == expected


@given(bodies(), st.booleans())
def test_chunks_of_a_body_mean_the_same(answer: Answer, usage: bool) -> None:
    body = answer.values[0]
    asked = replace(asked_of(answer), stream=True, usage=usage)
    request = replace(request_of(answer), stream=True, include_usage=usage)
    out = repaired(wire(chunks_of(body, forced=asked.forced_tool)), asked)
    before = conformance.meaning_of_body(dumps(body))
    assert conformance.check_stream(out, request) == []
    assert conformance.lost(before, conformance.meaning_of_stream(out)) == []


@given(bodies())
def test_a_body_means_the_same_when_it_is_back(answer: Answer) -> None:
    body = answer.values[0]
    asked = replace(asked_of(answer), stream=True, usage=True)
    back = dumps(there_and_back(body, asked))
    assert conformance.check_body(back, request_of(answer)) == []
    meant, made = (conformance.meaning_of_body(each) for each in (dumps(body), back))
    assert conformance.lost(meant, made) == []


@given(answers())
def test_a_body_of_chunks_means_the_same(answer: Answer) -> None:
    data = dumps(body_of(each for each in answer.values if isinstance(each, dict)))
    before = conformance.meaning_of_stream(wire(answer.values[:-1]))
    assert conformance.lost(before, conformance.meaning_of_body(data)) == []


@given(
    answers(), st.sampled_from([fix for fix in FIXES if fix.name != "body-in-stream"])
)
def test_without_one_fix_chunks_of_a_body_lose_nothing(
    answer: Answer, off: Any
) -> None:
    body = body_of(each for each in answer.values if isinstance(each, dict))
    fixes = [fix for fix in FIXES if fix is not off]
    out = repaired(dumps(body), asked_of(answer), fixes)
    before = conformance.meaning_of_body(dumps(body))
    assert conformance.lost(before, conformance.meaning_of_stream(out)) == []


# -- a body where a stream was asked for -------------------------------------------

PLAIN = Asked(stream=True)
USAGE_ASKED = Asked(stream=True, usage=True)


def streamed(data: bytes, asked: Asked = PLAIN) -> bytes:
    """Return the stream that becomes of *data*, of OpenAI's form and the same meaning."""
    out = repaired(data, asked)
    request = conformance.Request(
        True, asked.usage, asked.tools, asked.forced_tool, asked.n
    )
    assert conformance.check_stream(out, request) == []
    meant, made = conformance.meaning_of_body(data), conformance.meaning_of_stream(out)
    assert conformance.lost(meant, made) == []
    assert repaired(out, asked) == out
    return out


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "Too busy"}}, "Too busy"),
        ({"error": "Too busy"}, "Too busy"),
        ([{"error": {"code": 429, "message": "Too busy", "status": "X"}}], "Too busy"),
        ({"detail": "Too busy", "status": 503}, "Too busy"),
        ({"detail": [{"msg": "Too busy", "loc": ["body"]}]}, "body: Too busy"),
        ({"message": "Too busy", "type": "server_error", "code": 500}, "Too busy"),
        (
            {"success": False, "errors": [{"code": 7009, "message": "Too busy"}]},
            "Too busy",
        ),
        ({"base_resp": {"status_code": 1002, "status_msg": "Too busy"}}, "Too busy"),
    ],
)
@pytest.mark.parametrize("asked", [PLAIN, USAGE_ASKED])
def test_an_error_body_for_a_stream_becomes_an_event(
    body: Any, message: str, asked: Asked
) -> None:
    for data in (dumps(body), b"\n" + json.dumps(body, indent=1).encode() + b"\n"):
        out = streamed(data, asked).strip()
        assert json.loads(out.removeprefix(b"data: "))["error"]["message"] == message


@pytest.mark.parametrize(
    "body",
    [
        {**with_choice(said(), finish_reason=None), "object": "x", "usage": None},
        {"response": "Hi"},
        {**said(), "choices": []},
    ],
)
def test_what_may_be_the_first_of_many_is_not_given_an_end(body: Chunk) -> None:
    out = repaired(dumps(body), PLAIN)
    assert b"[DONE]" not in out
    assert b'"finish_reason":"' not in out


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, False),
        ({}, False),
        ({"new": 5}, False),
        ({"prompt_tokens": 5}, False),
        ({"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 9}, False),
        ({"prompt_tokens": 5, "total_tokens": 5}, False),
        ({"completion_tokens": "x"}, False),
        ({"completion_tokens": "0.5"}, False),
        ({"prompt_tokens": 5, "total_tokens": 9}, True),
        ({"input_tokens": 5, "output_tokens": "2"}, True),
        ({"completion_tokens": 1.0}, True),
        ({"total_tokens": 5}, True),
    ],
)
def test_figures_count_the_same_before_and_after_their_repair(
    usage: Any, expected: bool
) -> None:
    assert counts(usage) is expected
    sent = {**chunk(None, usage=usage), "choices": [{"index": 0, "delta": {}}]}
    out = repaired(dumps(sent).join([b"data: ", b"\n\n"]))
    values: list[Any] = conformance.values(out)
    found = [each["usage"] for each in values if each.get("usage")]
    assert all(counts(each) is expected for each in found)
