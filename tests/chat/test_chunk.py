from typing import Any

import pytest

from llm_normalize.chat.chunks.chunk import (
    Chunk,
    calls,
    change_all,
    choices,
    deltas,
    drop_other_usage,
    envelope_of,
    enveloped_in,
    function,
    in_deltas,
    in_messages,
    index_of,
    is_chunk,
    is_readable,
    messages,
    name_of,
    put_calls,
    put_first,
)
from llm_normalize.chat.chunks.chunk_content import (
    chunk_has_content,
    delta_has_content,
    is_empty_chunk,
    is_hollow,
    is_silent,
    news,
    repeats,
    stands_for_text,
)
from llm_normalize.chat.errors.chunk_errors import is_error
from llm_normalize.wire.json_text import Number


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"error": {"message": "no"}}, True),
        ({"error": "no"}, True),
        ({"error": None, "choices": []}, False),
        ({"error": {}}, False),
        (["error"], False),
    ],
)
def test_an_error_is_an_object_that_reports_one(value: Any, expected: bool) -> None:
    assert is_error(value) is expected


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
    ("value", "expected"),
    [
        (None, True),
        (
            [
                {},
                {
                    "index": 0,
                    "type": "function",
                    "function": {"name": "", "arguments": 0},
                },
            ],
            True,
        ),
        ([{"function": {"name": "f"}}], False),
        ([[""], ["x"]], False),
    ],
)
def test_what_holds_nothing_is_hollow_however_deep(value: Any, expected: bool) -> None:
    assert is_hollow(value) is expected
    assert is_silent({"delta": {"role": "assistant", "tool_calls": value}}) is expected


def test_a_choice_with_a_bare_text_is_not_silent() -> None:
    assert is_silent({"text": "", "message": None})
    assert not is_silent({"text": "Hi"})
    assert not is_silent({"delta": "Hi"})


def test_usage_elsewhere_leaves_with_the_chunks_own() -> None:
    chunk: Chunk = {"x_groq": {"id": "r", "usage": {"n": 1}}}
    drop_other_usage(chunk, {"n": 1, "m": 0})
    assert chunk == {"x_groq": {"id": "r", "usage": {"n": 1}}}
    drop_other_usage(chunk, {"n": 2})
    assert chunk == {"x_groq": {"id": "r"}}
    for chunk in ({"x_groq": {"usage": 1}}, {}):
        drop_other_usage(chunk)
        assert chunk == {}


def test_choices_that_are_no_list_are_none() -> None:
    assert choices({"choices": [{"index": 1}]}) == [{"index": 1}]
    assert choices({"choices": {"index": 1}}) == []
    assert choices({}) == []


def test_deltas_come_with_their_index_and_choice() -> None:
    first = {"index": 2, "delta": {"content": "a"}}
    second: dict[str, Any] = {"delta": {}}
    chunk = {"choices": [first, {"index": 1, "delta": None}, {"index": 3}, second]}
    assert list(deltas(chunk)) == [(2, first, first["delta"]), (0, second, {})]


def test_messages_come_with_their_choice() -> None:
    first = {"message": {"content": "a"}}
    body = {"choices": [first, {"message": "a"}, {"delta": {}}]}
    assert list(messages(body)) == [(first, first["message"])]


@pytest.mark.parametrize(
    ("index", "expected"), [(3, 3), (None, 0), ("1", 0), (Number("1.0"), 0)]
)
def test_an_index_that_is_no_whole_number_is_0(index: Any, expected: int) -> None:
    assert index_of({"index": index}) == expected
    assert index_of({}) == 0


def test_calls_that_are_no_objects_are_left_out() -> None:
    assert calls({"tool_calls": [{"id": "a"}, None, 1]}) == [{"id": "a"}]
    assert calls({"tool_calls": None}) == []
    assert calls({"tool_calls": {}}) == []
    assert calls({"tool_calls": {"id": "a"}}) == [{"id": "a"}]
    assert calls({}) == []


def test_a_function_that_is_no_object_is_empty() -> None:
    assert function({"function": {"name": "f"}}) == {"name": "f"}
    assert function({"function": "f"}) == {}
    assert function({}) == {}


@pytest.mark.parametrize("key", ["tool_calls", "function_call", "refusal", "audio"])
def test_what_stands_for_text_has_to_say_something(key: str) -> None:
    assert stands_for_text({"content": None, key: "x"}) is True
    assert stands_for_text({"content": "x", key: None}) is False


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"id": "a", "choices": [{"index": 0, "delta": {}}]}, True),
        ({"choices": [{"index": 0, "delta": {}, "finish_reason": None}]}, True),
        ({"obfuscation": "x", "usage": None, "choices": [{"delta": None}]}, True),
        ({"choices": []}, False),
        ({"usage": {}, "choices": [{"delta": {}}]}, False),
        ({"choices": [{"delta": {"content": ""}}]}, False),
        ({"choices": [{"delta": {}, "finish_reason": "stop"}]}, False),
        ({"choices": [{"delta": {}, "logprobs": {"content": []}}]}, False),
        ({"choices": [{"delta": {}, "token_ids": []}]}, False),
    ],
)
def test_a_chunk_says_nothing_when_it_is_mere_frame(
    chunk: dict[str, Any], expected: bool
) -> None:
    assert is_empty_chunk(chunk) is expected


def test_put_first_changes_or_adds_a_key_in_place() -> None:
    target = {"a": 1, "b": 2, "c": 3}
    put_first(target, "b", 9)
    assert list(target.items()) == [("a", 1), ("b", 9), ("c", 3)]
    put_first(target, "z", 0)
    assert list(target) == ["z", "a", "b", "c"]


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


def test_all_parts_are_changed() -> None:
    chunk = {"choices": [{"delta": {"a": 1}}, {"delta": {}}, {"delta": {"a": 2}}]}
    assert in_deltas(chunk, lambda delta: bool(delta.pop("a", None)))
    assert chunk == {"choices": [{"delta": {}}, {"delta": {}}, {"delta": {}}]}
    assert not in_deltas(chunk, lambda delta: bool(delta.pop("a", None)))
    assert in_messages({"choices": [{"message": {}}]}, lambda _: True)
    assert not change_all(lambda _: True, [])


def test_calls_are_put_and_an_empty_list_goes() -> None:
    delta: dict[str, Any] = {"tool_calls": [{}], "content": ""}
    put_calls(delta, [{"index": 0}])
    assert delta == {"tool_calls": [{"index": 0}], "content": ""}
    put_calls(delta, [])
    assert delta == {"content": ""}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ({"function": {"name": "f"}}, "f"),
        ({"custom": {"name": "f"}}, "f"),
        ({"custom": {"input": "x"}, "function": {"name": "f"}}, "f"),
        ({"custom": "f", "function": {"name": ""}}, None),
        ({}, None),
    ],
)
def test_name_of_a_call(call: dict[str, Any], name: str | None) -> None:
    assert name_of(call) == name


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"role": "assistant", "content": ""}, False),
        ({"reasoning_details": [], "x": None, "y": {}}, False),
        ({"content": "x"}, True),
        ({"index": 0}, True),
    ],
)
def test_a_part_says_something_beyond_its_role(
    part: dict[str, Any], expected: bool
) -> None:
    assert delta_has_content(part) is expected


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"choices": []}, False),
        ({"choices": [], "usage": {"total_tokens": 1}}, True),
        ({"choices": [{"delta": {"role": "assistant"}}]}, False),
        ({"choices": [{"delta": {"content": "x"}}]}, True),
        ({"choices": [{"delta": {}, "finish_reason": "stop"}]}, True),
        ({"choices": [{"delta": {}, "logprobs": {"content": []}}]}, True),
        ({"choices": [{"message": {"content": "x"}}]}, True),
        ({"choices": [{"message": {"role": "assistant"}, "text": ""}]}, False),
        ({"choices": [{"delta": {"function_call": {"name": ""}}}]}, False),
        ({"choices": [{"text": "x"}]}, True),
        ({"choices": [{"delta": "x"}]}, True),
        ({"choices": [{"delta": None, "text": 1}]}, False),
        ({"choices": [{"delta": {}, "usage": {"total_tokens": 1}}]}, True),
        ({"choices": [], "x_groq": {"usage": {"total_tokens": 1}}}, True),
    ],
)
def test_a_chunk_speaks(chunk: dict[str, Any], expected: bool) -> None:
    assert chunk_has_content(chunk) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, 7, True),
        ("Hi", "Hi you", True),
        ("Hi", "Ho", False),
        ("Hi", None, False),
        ({"role": "a", "content": "H"}, {"content": "Hi"}, True),
        ({"content": "H", "x": "y"}, {"content": "Hi"}, False),
        ([{"id": "a"}], [{"id": "a", "x": 1}, {}], True),
        ([{"id": "a"}], [], False),
        ([{"id": "a"}], [{}], False),
        (7, 7, True),
        (7, 8, False),
    ],
)
def test_what_repeats_says_all_again(old: Any, new: Any, expected: bool) -> None:
    assert repeats(old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "rest"),
    [
        ("Hi", "Hi you", " you"),
        ("Hi", "Ho", "Ho"),
        (None, "Hi", "Hi"),
        (7, 7, None),
        ({"a": "x", "b": "y"}, {"a": "xz", "b": "y", "c": ""}, {"a": "z", "c": ""}),
        (
            [{"f": "{"}, {"f": "x"}],
            [{"f": "{}"}, {"f": "x"}, {"f": "new"}],
            [{"index": 0, "f": "}"}, {"f": "new"}],
        ),
    ],
)
def test_news_is_what_was_added(old: Any, new: Any, rest: Any) -> None:
    assert news(old, new) == rest


def test_a_chunk_that_is_split_off_has_the_begin_of_a_long_envelope() -> None:
    long = {"id": "i" * 300, "created": 1, "choices": [], "usage": {}}
    assert envelope_of(long) == {"id": "i" * 256, "created": 1, "choices": []}


def test_usage_alone_is_a_chunk_in_an_envelope() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    for object_ in ({}, {"object": ""}):
        inner = {"choices": [], **object_}
        assert enveloped_in({"data": {**inner, "usage": usage}}) == "data"
        assert enveloped_in({"data": {**inner, "usage": {"pages": 1}}}) is None
