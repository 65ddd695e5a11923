import pytest

from llm_normalize.chat.endpoint import is_chat_request, is_event_stream


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/v1/chat/completions", True),
        ("POST", "/chat/completions", True),
        ("POST", "/openai/deployments/d/chat/completions?api-version=1", True),
        ("POST", "/v1/chat/completions/", True),
        ("GET", "/v1/chat/completions", False),
        ("POST", "/v1/completions", False),
        ("POST", "/v1/chat/completions/chatcmpl-1", False),
        ("POST", "/v1/mychat/completions", False),
        ("POST", "/v1/responses?x=/chat/completions", False),
    ],
)
def test_a_chat_request_is_a_post_to_its_path(
    method: str, path: str, expected: bool
) -> None:
    assert is_chat_request(method, path) is expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/event-stream", True),
        (" Text/Event-Stream ; charset=utf-8", True),
        ("text/event-stream-x", False),
        ("application/json; x=text/event-stream", False),
        ("", False),
    ],
)
def test_an_event_stream_is_recognised_by_its_type(
    content_type: str, expected: bool
) -> None:
    assert is_event_stream(content_type) is expected
