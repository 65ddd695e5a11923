"""The requests that a provider is asked, few and small, each for one thing, and their answers."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from .. import conformance

LIMIT = "max_tokens"
NEWER_LIMIT = "max_completion_tokens"

_TOKENS = 64
_COUNT = "Count from one to ten in words."
_CALL = "What is the weather in Lisbon? Call the tool."
_WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Return the weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
_FORCED = {"type": "function", "function": {"name": "get_weather"}}
_STREAM = {"stream": True}
# Each with whether OpenAI would refuse it.
_BODIES: dict[str, tuple[dict[str, Any], bool]] = {
    "plain": ({}, False),
    "stream": (_STREAM, False),
    "usage": ({**_STREAM, "stream_options": {"include_usage": True}}, False),
    "tools": ({**_STREAM, "tools": [_WEATHER]}, False),
    "forced-tool": (
        {**_STREAM, "tools": [_WEATHER], "tool_choice": _FORCED},
        False,
    ),
    "bad-model": ({"model": "no-such-model"}, True),
    "bad-parameter": ({**_STREAM, "temperature": "hot"}, True),
}
STREAM_TYPE = "text/event-stream"
JSON_TYPE = "application/json"
PENDING_HEADER = "nvcf-reqid"


@dataclass(frozen=True)
class Request:
    """One request.

    Attributes:
        name: What it is called on the card.
        body: Its body.
        wants_error: Whether OpenAI would refuse it.
    """

    name: str
    body: dict[str, Any]
    wants_error: bool = False


def request(name: str, model: str, limit: str = LIMIT) -> Request:
    """The request of this *name*.

    Args:
        name: What it is called on the card.
        model: The model to ask.
        limit: The parameter that bounds the answer.
    """
    body, wants_error = _BODIES[name]
    words = _CALL if "tools" in body else _COUNT
    common = {
        "model": model,
        "messages": [{"role": "user", "content": words}],
        limit: _TOKENS,
    }
    return Request(name, {**common, **body}, wants_error)


@dataclass
class Answer:
    """An answer, with what was asked.

    Attributes:
        name: What it is called on the card.
        body: The request's body.
        status: The HTTP status.
        content_type: The header; empty without one.
        pending: Whether it says that the answer can be fetched later.
        encoding: What was undone of the body, if anything.
        data: The body, without its content encoding and without the key.
        broke: How it broke off, as a sentence; empty where it is complete.
        wants_error: Whether OpenAI would refuse the request.
        first_ms: When the first event with data was there.
        last_ms: When the last one was.
        total_ms: When all of it was.
        notes: What else there is to say.
    """

    name: str
    body: dict[str, Any]
    status: int = 200
    content_type: str = ""
    pending: bool = False
    encoding: str = ""
    data: bytes = b""
    broke: str = ""
    wants_error: bool = False
    first_ms: float | None = None
    last_ms: float | None = None
    total_ms: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for."""
        return self.body.get("stream") is True

    @property
    def is_error(self) -> bool:
        """Whether the status says that the request failed."""
        return self.status >= HTTPStatus.BAD_REQUEST

    @property
    def request(self) -> conformance.Request:
        """What was asked, as far as the form of the answer depends on it."""
        return conformance.Request.from_body(self.body, stream=self.stream)
