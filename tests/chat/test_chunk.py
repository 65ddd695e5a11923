from typing import Any

import pytest

from llm_normalize.chat.chunks.chunk import Chunk, drop_other_usage
from llm_normalize.chat.chunks.chunk_form import enveloped_in, is_chunk, is_readable
from llm_normalize.chat.errors.chunk_errors import is_error


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"choices": []}, True),
        ({"choices": {}}, False),
        ({"choices": [{}, None]}, True),
        ({"choices": None}, False),
        ({"choices": None, "object": "chat.completion.chunk"}, True),
        ({"object": "chat.completion"}, True),
        ({"usage": {}}, True),
        ({"usage": {}, "type": "message_delta"}, False),
        ({"response": "Hi"}, True),
        ({"tool_calls": []}, True),
        ({"result": {"response": "Hi"}, "success": True}, True),
        ({"result": {"choices": []}, "success": True}, True),
        ({"result": {"response": "Hi"}, "success": False}, False),
        ({"result": "Hi", "success": True}, False),
        ({}, False),
        ([{"choices": []}], False),
        ("choices", False),
    ],
)
def test_a_chunk_is_an_object_with_choices_or_what_stands_for_them(
    value: Any, expected: bool
) -> None:
    assert is_chunk(value) is expected


CALL = {"id": "a", "function": {"name": "f", "arguments": {}}}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (None, True),
        ([], True),
        ("Hi", True),
        (7, False),
        ([{"content": "Hi"}], True),
        ([{"content": "Hi"}, 7], False),
        ({"content": {"a": 1}, "role": 7, "tool_calls": None}, True),
        ({"tool_calls": CALL, "function_call": CALL["function"]}, True),
        ({"tool_calls": [None, {"id": 7, "function": [], "index": "1"}]}, True),
        ({"tool_calls": 7}, False),
        ({"tool_calls": ["f"]}, False),
        ({"tool_calls": [CALL, {**CALL, "id": {}}]}, False),
        ({"tool_calls": [{**CALL, "id": True}]}, False),
        ({"tool_calls": [{"function": {"name": []}}]}, False),
        ({"tool_calls": [{"function": "f"}]}, False),
        ({"tool_calls": [{"name": {}}]}, False),
        ({"tool_calls": [{"custom": {"name": 7}}]}, False),
        ({"function_call": "f"}, False),
        ({"function_call": {"name": {}}}, False),
    ],
)
def test_a_chunk_is_readable_where_its_types_are_those_of_providers(
    part: Any, expected: bool
) -> None:
    for key in ("delta", "message"):
        assert is_readable({"choices": [{"index": 0}, {key: part}]}) is expected
    if isinstance(part, dict) and "tool_calls" in part:
        assert is_readable(part) is expected
        assert is_readable({"result": part, "success": True}) is expected
        assert is_readable({"result": {"choices": [7]}, **part}) is expected


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        ({"error": "no"}, True),
        ({"error": {}, "message": ""}, False),
        ({"message": "No GPU", "type": "internal_server_error", "code": 500}, True),
        ({"message": "No GPU", "object": "error"}, True),
        ({"detail": "not found"}, True),
        ({"status": 404, "title": "Not Found"}, True),
        ({"errors": [{"message": "no"}]}, True),
        ({"status": "queued", "message": "please wait"}, False),
        ({"type": "ping", "message": "hello"}, False),
        ({"choices": [], "message": "x", "code": 1}, True),
        ({"choices": [{}], "message": "x", "code": 1}, False),
        ({"choices": None, "base_resp": {"status_code": 1008}}, True),
        ({"choices": None, "base_resp": {"status_code": 0}}, False),
        ({"choices": [{}], "base_resp": {"status_code": 1008}}, False),
        ({"code": 200, "message": "ok"}, False),
        ({"code": "0", "msg": "ok"}, False),
        ({"message": "Hi"}, False),
        ([{"error": "no"}], True),
        ([[{"error": "no"}]], False),
        ([], False),
    ],
)
def test_error_is_distinguished_from_a_notice(value: object, reported: bool) -> None:
    assert is_error(value) is reported


def test_usage_alone_is_a_chunk_in_an_envelope() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    for object_ in ({}, {"object": ""}):
        inner = {"choices": [], **object_}
        assert enveloped_in({"data": {**inner, "usage": usage}}) == "data"
        assert enveloped_in({"data": {**inner, "usage": {"pages": 1}}}) is None


def test_usage_elsewhere_leaves_with_the_chunks_own() -> None:
    chunk: Chunk = {"x_groq": {"id": "r", "usage": {"n": 1}}}
    drop_other_usage(chunk, {"n": 1, "m": 0})
    assert chunk == {"x_groq": {"id": "r", "usage": {"n": 1}}}
    drop_other_usage(chunk, {"n": 2})
    assert chunk == {"x_groq": {"id": "r"}}
    for chunk in ({"x_groq": {"usage": 1}}, {}):
        drop_other_usage(chunk)
        assert chunk == {}
