"""The requests that a provider is asked: few, small, and each for one thing."""

from dataclasses import dataclass
from typing import Any

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
