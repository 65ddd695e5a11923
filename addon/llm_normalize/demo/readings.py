"""What simple clients make of a stream, and whether OpenAI could have sent it."""

import json
from collections.abc import Sequence
from typing import Any

from .. import conformance


def chunk_of(event: str) -> dict[str, Any] | None:
    """Return the chunk in *event*, None if it is `[DONE]` or no chunk."""
    try:
        value = json.loads(event.removeprefix("data: "))
    except ValueError:
        return None
    known = isinstance(value, dict) and isinstance(value.get("choices"), list)
    return value if known else None


def faults(events: Sequence[str], asked: dict[str, Any]) -> list[str]:
    """The faults of this stream by OpenAI's rules, each as a phrase.

    Args:
        events: One stream, without the blank lines.
        asked: The request's body.
    """
    data = "".join(f"{event}\n\n" for event in events).encode()
    return conformance.check_stream(
        data, conformance.Request.from_body(asked, stream=True)
    )


def shown(events: Sequence[str]) -> str:
    """The text of a page that appends str(delta["content"])."""
    return "".join(
        str(choice["delta"]["content"])
        for event in events
        for choice in (chunk_of(event) or {"choices": ()})["choices"]
        if "content" in choice["delta"]
    )


def called(events: Sequence[str]) -> str:
    """The call of an agent that reads no delta beside a finish reason."""
    name = arguments = ""
    for event in events:
        for choice in (chunk_of(event) or {"choices": ()})["choices"]:
            if choice.get("finish_reason"):
                return f"{name}({arguments})" if name else "nothing"
            for call in choice["delta"].get("tool_calls") or ():
                name += call["function"].get("name", "")
                arguments += call["function"]["arguments"]
    return "nothing"


def counted(events: Sequence[str]) -> int:
    """Return the tokens of a meter that adds up every usage."""
    chunks = [chunk for event in events if (chunk := chunk_of(event))]
    return sum((chunk.get("usage") or {}).get("total_tokens", 0) for chunk in chunks)
