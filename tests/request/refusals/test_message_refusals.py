"""Refusals of content in parts, in the words of many servers."""

import json
from itertools import product
from typing import Any

import pytest

from llm_normalize.request.refusals.dropped_parameters import apply, changes_for
from llm_normalize.request.refusals.refusal_parser import refusal_of

# What says it without naming content, by who says it.
UNNAMED = [
    # NVIDIA NIM, DIAL
    "Internal server error: sequence item 1: expected str instance, list found",
    # Python
    'can only concatenate str (not "list") to str',
    'can only concatenate list (not "str") to list',
    "must be str, not list",
    "expected string or bytes-like object, got 'list'",
    "expected string or bytes-like object",
    "expected str, bytes or os.PathLike object, not list",
    "decoding to str: need a bytes-like object, list found",
    "a bytes-like object is required, not 'list'",
    "'in <string>' requires string as left operand, not list",
    "replace() argument 1 must be str, not list",
    "unsupported operand type(s) for +: 'list' and 'str'",
    "unhashable type: 'list'",
    "'list' object has no attribute 'strip'",
    "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]",
    # templates: Jinja, llama.cpp
    "'list object' has no attribute 'startswith'",
    "Unknown (built-in) filter 'trim' for type Array",
    # Go, Rust, C++, Java, .NET
    "json: cannot unmarshal array into Go value of type string",
    "invalid type: sequence, expected a string at line 1 column 40",
    "data did not match any variant of untagged enum MessageContent",
    "type must be string, but is array",
    "[json.exception.type_error.302] type must be string, but is array",
    "Expected a string but was BEGIN_ARRAY at line 1 column 50",
    "Cannot deserialize value of type `java.lang.String` from Array value",
    "Cannot get the value of a token type 'StartArray' as a string.",
    # Swift, JavaScript, Ruby, PHP
    "Expected to decode String but found an array instead.",
    "Invalid input: expected string, received array",
    "e.trim is not a function",
    "undefined method `strip' for an instance of Array",
    "no implicit conversion of Array into String",
    "Array to string conversion",
    "trim(): Argument #1 ($string) must be of type string, array given",
]
NAMED = [
    "Message content must be a string",
    "Content must be a string, got list",
    "'content' must be str, got list",
    "Invalid type for 'content': list",
    "content cannot be an array",
    "content must not be a list of parts",
    "content parts are not supported",
    "This model does not support content parts",
    "content blocks are not supported",
    "This provider does not support array content",
    "Structured content is not supported",
    "Only plain text content is supported",
    "message content only accepts strings",
    "unknown content type",  # GenieX
    "invalid message content type: []interface {}",  # Ollama
    "message.content.trim is not a function",
    "content 必须是字符串",
    # chatglm.cpp
    "multimodal content must have a text item followed by an image_url item",
    # Gemini's proto
    "Unknown name \"content\" at 'messages[0]': Proto field is not repeating, cannot start list.",
    "The JSON value could not be converted to System.String. Path: $.messages[0].content",
    "Type mismatch for 'messages.0.content' key, expected 'String' type",  # qwisp
    "Expected `str`, got `array` - at `$.messages[0].content`",
]
OF_OTHERS = [
    "'user' must be a string",
    "stop must be a string or a list of strings",
    "tools must be an array, not a string",
    "messages: expected array, received string",
    "cannot unmarshal string into Go struct field Request.messages of type []Message",
    "string indices must be integers, not 'str'",
    'can only concatenate str (not "int") to str',
    "unknown content type: image_url",
    "Invalid content type. image_url is only supported by certain models.",
    "image content is not supported",
    "messages[0].content[0].text must be a string",
]


def refuses_parts(message: str) -> bool:
    body = json.dumps({"error": {"message": message}}).encode()
    return any(each.parts for each in refusal_of(body).content)


@pytest.mark.parametrize("message", [*UNNAMED, *NAMED])
def test_parts_that_are_refused(message: str) -> None:
    assert refuses_parts(message)
    assert refuses_parts(f"Internal server error: {message}\n")


@pytest.mark.parametrize("message", OF_OTHERS)
def test_words_about_something_else(message: str) -> None:
    assert not refuses_parts(message)


def test_no_words_hide_others() -> None:
    # "expected str" is a string that something has to be, "expected str instance" is content.
    for words, other in product(UNNAMED, OF_OTHERS):
        assert refuses_parts(f"{other}: {words}"), other
        assert refuses_parts(f"{words}: {other}"), other


def test_parts_of_every_role_are_joined_where_all_are_text() -> None:
    text = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    image = {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}
    roles = ("system", "developer", "user", "assistant", "tool", "function")
    body: dict[str, Any] = {
        "messages": [
            *({"role": role, "content": text} for role in roles),
            {"role": "user", "content": [*text, image]},
        ]
    }
    error = {"error": {"message": UNNAMED[0]}}
    refusal = refusal_of(json.dumps(error).encode())
    # Of a request that is translated, the image would go, too.
    for change in changes_for(refusal, body, forms=()):
        apply(change, body)
    joined = [each["content"] for each in body["messages"]]
    assert joined == ["a\nb"] * len(roles) + [[*text, image]]
