from typing import Any

import pytest

from llm_normalize.chat.state.sent_call import SentCall
from llm_normalize.chat.state.stream_state import Asked, Seen
from llm_normalize.repair.fix import chunk
from llm_normalize.wire.json_text import dumps


def asked(**request: Any) -> Asked:
    return Asked.from_body(dumps(request))


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"{",
        b"\xff",
        b'"stream"',
        b'[{"stream":true}]',
        b"[" * 100_000,
        b'{"stream":NaN}',
        b'{"a":{"x":1,"x":2},,}',
        b'{"stream":true,"stream":true} {}',
    ],
)
def test_what_is_no_json_object_asks_nothing(body: bytes | None) -> None:
    assert Asked.from_body(body) == Asked()


@pytest.mark.parametrize("key", ["b", "n"])
def test_long_number_beside_a_repeated_key_hides_nothing(key: str) -> None:
    body = b'{"a":{"x":1,"x":2},"%b":%b,"stream":true}' % (key.encode(), b"9" * 5_000)
    assert Asked.from_body(body) == Asked(stream=True)


@pytest.mark.parametrize("value", [False, None, 1, "true", {}])
def test_only_true_asks_for_a_stream_or_usage(value: Any) -> None:
    assert not asked(stream=value).stream
    assert not asked(stream_options={"include_usage": value}).usage


@pytest.mark.parametrize("key", ["tools", "functions"])
def test_tools_have_to_be_offered(key: str) -> None:
    assert asked(**{key: [{"name": "f"}]}).tools
    assert not asked(**{key: []}).tools
    assert not asked(**{key: None}).tools


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, True),
        ({"function_call": {"name": "f"}}, True),
        ({"tool_choice": None, "function_call": {"name": "f"}}, True),
        ({"tool_choice": "required"}, False),
        ({"tool_choice": {"type": "function", "function": {"name": ""}}}, False),
        ({"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}}, False),
        ({"function_call": "auto"}, False),
        ({"tool_choice": ["f"]}, False),
    ],
)
def test_a_tool_is_forced_when_the_choice_names_one(
    request_: dict[str, Any], expected: bool
) -> None:
    assert asked(**request_).forced_tool is expected


@pytest.mark.parametrize(
    ("arguments", "whole"),
    [
        ([], False),
        (["{}"], True),
        (["{", "}"], True),
        (['{"a":"', '}"'], False),
        (['{"a":"}', '"}'], True),
        (['{"a":"\\', '""}'], True),
        (['{"a":"\\', '"}"}'], True),
        (['{"a":[{}', "]}"], True),
    ],
)
def test_a_call_is_whole_when_its_object_is_closed(
    arguments: list[str], whole: bool
) -> None:
    call = SentCall("c1", "f")
    for each in arguments:
        call.add(each)
    assert call.is_complete is whole


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ({"function": {"name": "g", "arguments": ""}}, True),
        ({"function": {"name": "f", "arguments": ""}}, False),
        ({"function": {"name": "f", "arguments": '{"b":2}'}}, True),
        ({"id": "c1", "function": {"name": "f", "arguments": '{"a":1}'}}, False),
        ({"id": "c1", "function": {"name": "f", "arguments": '{"b":2}'}}, True),
        ({"function": {"arguments": '{"b":2}'}}, False),
    ],
)
def test_after_a_whole_call_a_name_or_all_arguments_open_another(
    fragment: dict[str, Any], expected: bool
) -> None:
    call = SentCall("c1", "f")
    call.add('{"a":1}')
    assert call.is_another(fragment) is expected


def test_what_is_kept_of_a_stream_is_bounded() -> None:
    seen = Seen()
    for at in range(1500):
        call = {"index": at, "id": "i" * 5000, "function": {"name": "n" * 5000}}
        seen.note(chunk({"tool_calls": [call]}))
        seen.note(chunk({"tool_calls": [call]}, index=at))
    assert len(seen.choices) == 1024
    assert sum(len(each.calls) for each in seen.choices.values()) == 1024
    assert len(str(seen.choice(0).calls[0].id)) < 100


def test_many_short_arguments_are_what_they_say_together() -> None:
    call = SentCall("call_1", "f", room=1000)
    for digit in "0123456789" * 60:
        call.add(digit)
    assert call.arguments == "0123456789" * 60
