from typing import Any

import pytest

from judge.messages_form import check_error
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import JsonObject

TOO_LONG = "context_length_exceeded"


def error(message: Any = "No", kind: Any = None, code: Any = None) -> JsonObject:
    return {"message": message, "type": kind, "param": None, "code": code}


def in_body(status: int, given: JsonObject) -> JsonObject:
    body = MESSAGES.error_body(status, given)
    assert check_error(body) == []
    found: JsonObject = body["error"]
    return found


def in_stream(given: JsonObject) -> JsonObject:
    answer = MESSAGES.translate({"messages": []}).answer
    ((name, data),) = answer.error(given)
    assert name == "error"
    assert check_error(data) == []
    found: JsonObject = data["error"]
    return found


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (408, "timeout_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ],
)
def test_type_is_that_of_the_status(status: int, kind: str) -> None:
    assert in_body(status, error(kind="x")) == {"type": kind, "message": "No"}
    assert in_stream(error(code=str(status)))["type"] == kind


@pytest.mark.parametrize(
    ("kind", "code", "expected"),
    [
        ("server_error", None, "api_error"),
        (None, None, "api_error"),
        ("invalid_request_error", "model_not_found", "not_found_error"),
        ("BadRequestError", None, "invalid_request_error"),
        ("rate_limit_error", "429", "rate_limit_error"),
        ("tokens", "rate_limit_exceeded", "rate_limit_error"),
        ("requests", None, "rate_limit_error"),
        ("insufficient_quota", "insufficient_quota", "billing_error"),
        ("Service Unavailable", None, "overloaded_error"),
        ("authentication_error", None, "authentication_error"),
        ("permission_error", None, "permission_error"),
        ("timeout", None, "timeout_error"),
        ("payload too large", None, "request_too_large"),
        ("x", "200", "api_error"),
    ],
)
def test_type_in_mid_stream_is_that_of_the_words(
    kind: str | None, code: str | None, expected: str
) -> None:
    assert in_stream(error(kind=kind, code=code))["type"] == expected
    assert in_body(200, error(kind=kind, code=code))["type"] == expected


@pytest.mark.parametrize("message", [None, "", {"a": 1}])
def test_an_error_without_words_says_what_there_is(message: Any) -> None:
    assert "x_1" in in_body(500, error(message, code="x_1"))["message"]


def test_a_conversation_that_is_not_stored_has_the_code_that_sdks_know() -> None:
    assert in_body(400, error(code="thread_not_found")) == {
        "type": "invalid_request_error",
        "message": "No",
        "details": {"error_code": "thread_not_found"},
    }


@pytest.mark.parametrize("status", [400, 413, 500])
def test_an_overflow_has_the_words_that_claude_code_knows(status: int) -> None:
    found = in_body(status, error("Too many tokens.", code=TOO_LONG))
    words = "prompt is too long: Too many tokens."
    assert found == {"type": "invalid_request_error", "message": words}
    assert in_stream(error("Too many tokens.", code=TOO_LONG)) == found


def test_an_overflow_in_these_words_keeps_them() -> None:
    words = "Prompt is too long: 9 tokens > 8 maximum"
    assert in_body(400, error(words, code=TOO_LONG))["message"] == words


ROOM = "8000 + 32000 > 32768"
SUMS = {
    "This model's maximum context length is 32768 tokens. However, you requested 40000 "
    "tokens (8000 in the messages, 32000 in the completion). Please reduce the length.": ROOM,
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum "
    "context length is 32768 tokens and your request has 8000 input tokens "
    "(32000 > 32768 - 8000).": ROOM,
    "Requested token count exceeds the model's maximum context length of 32768 tokens. "
    "You requested a total of 40000 tokens: 8000 tokens from the input messages and "
    "32000 tokens for the completion.": ROOM,
    "This endpoint's maximum context length is 32768 tokens. However, you requested "
    "about 40000 tokens (7000 of text input, 1000 of tool input, 32000 in the output).": ROOM,
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens "
    "and 1000 `max_new_tokens`": "4000 + 1000 > 4096",
}


@pytest.mark.parametrize(("words", "sums"), SUMS.items())
def test_an_overflow_by_the_room_for_the_answer_says_how_much_there_is(
    words: str, sums: str
) -> None:
    expected = f"prompt is too long: input length and `max_tokens` exceed context limit: {sums}; {words}"
    assert in_body(400, error(words, code=TOO_LONG))["message"] == expected


@pytest.mark.parametrize(
    "words",
    [
        (
            "This model's maximum context length is 8192 tokens. However, you requested 10000 "
            "tokens (9000 in the messages, 1000 in the completion)."
        ),
        "The maximum context length is 8192 tokens, but the request has 9000 input tokens.",
        "This model's maximum context length is 8192 tokens, you requested 9000 tokens.",
    ],
)
def test_an_overflow_by_the_prompt_alone_says_no_more(words: str) -> None:
    found = in_body(400, error(words, code=TOO_LONG))
    assert found["message"] == f"prompt is too long: {words}"
