from typing import Any

import pytest

from judge.messages_form import check_body
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import (
    UNFINISHED,
    Circumstances,
    JsonObject,
    UntranslatableError,
    make_id,
)
from llm_normalize.wire.json_text import Number, dumps

REQUEST: JsonObject = {"model": "claude-x", "messages": []}


def body_of(message: JsonObject, finish: str = "stop", **more: Any) -> JsonObject:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    completion = {"id": "chatcmpl-7", "model": "m-1", "choices": [choice]} | more
    return MESSAGES.translate(REQUEST, Circumstances("e-1")).answer.body(completion)


def call(arguments: Any) -> JsonObject:
    function = {"name": "f", "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": "c", "function": function}]}


def test_answer_is_a_message() -> None:
    given = call('{"a": 1}') | {"reasoning_content": "Hm.", "content": "Hi"}
    usage = {"prompt_tokens": 9, "completion_tokens": 7}
    found = body_of(given, "tool_calls", usage=usage)
    assert check_body(found) == []
    assert found["content"][0].pop("signature").strip()
    assert found["content"] == [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
    ]
    assert (found["id"], found["model"]) == (f"msg_{make_id('e-1')}", "claude-x")
    assert (found["stop_reason"], found["stop_sequence"]) == ("tool_use", None)
    assert [*found["usage"].values()] == [9, 0, 0, 7]


def test_choice_that_says_nothing_is_a_message_without_content() -> None:
    found = body_of({}, choices=[{}])
    assert (found["type"], found["content"]) == ("message", [])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        (" ", {}),
        (None, {}),
        ('{"a": 1.50}', {"a": Number("1.50")}),
        ('{"a": "\ud800"}', {"a": "\ud800"}),
        ('{"a": ', {"INVALID_JSON": '{"a": '}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ("null", {}),
        ('{"a": 1, "a": 2}', {"INVALID_JSON": '{"a": 1, "a": 2}'}),
        ('{"a":' * 999, {"INVALID_JSON": '{"a":' * 999}),
    ],
)
def test_input_is_an_object_that_loses_nothing(
    arguments: str | None, expected: JsonObject
) -> None:
    found = body_of(call(arguments), "tool_calls")
    assert check_body(found) == []
    assert found["content"][0]["input"] == expected
    assert dumps(found)


ERROR = {"message": "out of memory", "code": 500}
HALF = {"index": 0, "message": {"content": "Half"}, "finish_reason": "error"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"choices": [{**HALF, "error": ERROR}]}, "out of memory"),
        ({"error": ERROR}, "out of memory"),
        ({"error": "out of memory"}, "out of memory"),
        ({"error": {"code": 500}}, UNFINISHED),
        ({"choices": [HALF]}, UNFINISHED),
        ({"choices": []}, UNFINISHED),
        ({"choices": None}, UNFINISHED),
    ],
)
def test_answer_that_failed_is_no_message(more: JsonObject, words: str) -> None:
    with pytest.raises(UntranslatableError, match=words):
        body_of({"content": "Half"}, **more)


def test_judge_finds_what_is_wrong() -> None:
    good = body_of(call("{}"), "tool_calls")
    assert check_body(good) == []
    (tool,) = good["content"]
    for wrong in (
        good | {"id": ""},
        good | {"stop_reason": "tool_calls"},
        good | {"stop_reason": "end_turn"},
        good | {"usage": None},
        good | {"content": [tool | {"id": None}]},
        good | {"content": [tool | {"input": "{}"}]},
        good | {"content": [tool, {"type": "text", "text": ""}]},
        good | {"content": [tool, {"type": "thinking", "thinking": "x"}]},
        {key: value for key, value in good.items() if key != "stop_sequence"},
    ):
        assert check_body(wrong)


def test_blanks_before_a_call_are_no_text_however_many() -> None:
    found = body_of(call("{}") | {"content": " " * 5000}, "tool_calls")
    assert [each["type"] for each in found["content"]] == ["tool_use"]
    alone = body_of({"content": " " * 5000})
    assert alone["content"] == [{"type": "text", "text": " " * 5000}]
