"""What the demo asks: one text, and one tool call."""

from typing import Any, NamedTuple

from .provider import MODEL

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class Sample(NamedTuple):
    """One request, and the two answers to it.

    Attributes:
        title: What is asked.
        asked: The request's body.
        before: The events straight from the provider.
        after: The events through the proxy.
    """

    title: str
    asked: dict[str, Any]
    before: list[str]
    after: list[str]


def samples() -> list[Sample]:
    """The requests to send."""
    text = [{"role": "user", "content": "What are streams?"}]
    tool = [{"role": "user", "content": "How is the weather in Lisbon?"}]
    base = {"model": MODEL, "stream": True}
    more = {"stream_options": {"include_usage": True}, "tools": [WEATHER]}
    return [
        Sample("A text", {**base, "messages": text}, [], []),
        Sample(
            "A tool call, usage asked for", {**base, "messages": tool, **more}, [], []
        ),
    ]
