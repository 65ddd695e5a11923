from typing import Any

import pytest

from llm_normalize.chat.state.asked import Asked
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
