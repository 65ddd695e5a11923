"""The requests that a provider is asked: few, small, and each for one thing."""

from dataclasses import dataclass
from typing import Any

from .answer import request_body

LIMIT = "max_tokens"
NEWER_LIMIT = "max_completion_tokens"

_TOKENS = 64
_COUNT = "Count from one to ten in words."
_CALL = "What is the weather in Lisbon? Call the tool."
# Each with whether OpenAI would refuse it.
_BODIES: dict[str, tuple[dict[str, Any], bool]] = {
    "plain": (request_body(stream=False), False),
    "stream": (request_body(stream=True), False),
    "usage": (request_body(stream=True, usage=True), False),
    "tools": (request_body(stream=True, tools=True), False),
    "forced-tool": (request_body(stream=True, forced=True), False),
    "bad-model": ({"model": "no-such-model"}, True),
    "bad-parameter": ({"stream": True, "temperature": "hot"}, True),
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
    """Return the request of this *name*.

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
