import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.records.masking import mask, text_of
from llm_normalize.text.echo import ECHO_KEYS, MASK, Echo

# -- text --------------------------------------------------------------------------


def test_a_block_in_utf_8_is_its_text() -> None:
    assert text_of('data: "ä\\n"\r\n\r\n'.encode()) == 'data: "ä\\n"\r\n\r\n'


def test_other_bytes_are_escaped_and_a_backslash_doubled() -> None:
    assert text_of(b"\xff\\n\xc3\xa4\\xff") == r"\xff\\nä\\xff"


@given(st.binary(max_size=30))
def test_the_bytes_can_be_had_back_from_the_text(block: bytes) -> None:
    text = text_of(block)
    try:
        block.decode()
    except UnicodeDecodeError:
        out = b""
        while text:
            if text.startswith("\\\\"):
                out, text = out + b"\\", text[2:]
            elif text.startswith("\\x"):
                out, text = out + bytes.fromhex(text[2:4]), text[4:]
            else:
                out, text = out + text[0].encode(), text[1:]
        assert out == block
    else:
        assert text.encode() == block


# -- masks -------------------------------------------------------------------------

KEYS = sorted(ECHO_KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_what_is_echoed_is_masked_at_any_depth(key: str) -> None:
    value = {"detail": [{"loc": ["body"], key: {"a": ["SECRET"]}}], "n": 1}
    masked = mask(f"data: {json.dumps(value)}\n\n")
    assert masked == (
        f'data: {{"detail":[{{"loc":["body"],"{key}":"***"}}],"n":1}}\n\n'
    )


@pytest.mark.parametrize("key", KEYS)
def test_what_is_echoed_in_python_spelling_is_masked(key: str) -> None:
    value = {"error": {"message": f"1 error: {{'{key}': 'SECRET', 'b': 2}}"}}
    assert mask(json.dumps(value)) == (
        f'{{"error":{{"message":"1 error: {{\'{key}\': ***"}}}}'
    )


def test_what_is_echoed_in_an_error_beside_choices_is_masked() -> None:
    value = {"choices": [], "error": {"message": "no", "input": "SECRET"}}
    assert "SECRET" not in mask(json.dumps(value))


@pytest.mark.parametrize(
    "text",
    [
        '{"detail": "cut", "input": "SECRET',
        "ValueError: {'a': 1, 'input': 'SECRET'}",
        '"input" : SECRET',
        'data: {"error": 1,\ndata: "input": "SECRET"}\n\n',
    ],
)
def test_what_is_echoed_in_what_is_no_json_is_masked(text: str) -> None:
    masked = mask(text)
    assert "SECRET" not in masked
    assert masked.endswith("***")


@pytest.mark.parametrize(
    "text",
    [
        'data: {"choices":[{"delta":{"content":"\\"input\\": 1"}}]}\n\n',
        'data: {"choices":[{"delta":{"input":"mine"}}]}\n\n',
        "data: [DONE]\n\n",
        ": ping\n\n",
        '{"error": {"message": "bad input", "n": 1.10}}',
        'a "body" of text',
    ],
)
def test_what_echoes_nothing_stays_as_it_is(text: str) -> None:
    assert mask(text) == text


def test_secrets_are_masked_wherever_they_are() -> None:
    text = 'data: {"choices":[],"x":"nvapi-1"}\n\n: nvapi-1'
    masked = mask(text, ["nvapi-1", "other"])
    assert masked == 'data: {"choices":[],"x":"***"}\n\n: ***'


plain = st.recursive(
    st.text(max_size=5) | st.integers() | st.none(),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(KEYS), each, max_size=3)
    ),
    max_leaves=10,
)


@given(plain, st.sampled_from(KEYS))
def test_an_echo_is_masked_whatever_stands_around_it(around: Any, key: str) -> None:
    value = {"a": around, "error": [{key: [around, "SECRET"]}]}
    assert "SECRET" not in mask(json.dumps(value))


def test_input_value_of_a_pydantic_message_is_masked() -> None:
    reported = (
        "1 validation error [type=missing, input_value='my prompt', input_type=str]"
    )
    assert "prompt" not in mask(reported)


def test_what_stands_beside_choices_stays_json_whatever_is_masked() -> None:
    text = '{"choices":[],"pins":[471147],"error":"none"}'
    assert mask(text, (), Echo(None)) == '{"choices":[],"pins":"***","error":"***"}'


@pytest.mark.parametrize("is_event", [True, False])
def test_response_object_has_nothing_of_its_request(is_event: bool) -> None:
    frame = {
        "object": "response",
        "id": "resp_1",
        "instructions": "wagtail",
        "tools": [{"description": "wagtail"}],
        "metadata": {"a": "wagtail"},
        "user": None,
        "temperature": 1,
        "output": [{"type": "message", "content": [{"text": "Hi, wagtail"}]}],
    }
    value = {"type": "response.created", "response": frame} if is_event else frame
    masked = json.loads(mask(json.dumps(value), echo=Echo(b'{"x":"wagtail"}')))
    found = masked["response"] if is_event else masked
    hidden = dict.fromkeys(("instructions", "tools", "metadata"), MASK)
    assert found == frame | hidden


def test_response_that_is_no_object_stays() -> None:
    text = '{"object":"other","response":"wagtail"}'
    assert mask(text, echo=Echo(b'{"x":"heron"}')) == text
