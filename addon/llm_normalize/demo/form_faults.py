"""What the demo tells of a stream: whether OpenAI could have sent it, and its meaning."""

import json
from collections.abc import Sequence
from typing import Any

DONE = "[DONE]"


def chunk_of(event: str) -> dict[str, Any] | None:
    """Return the chunk in *event*, None if it is `[DONE]` or no chunk."""
    try:
        value = json.loads(event.removeprefix("data: "))
    except ValueError:
        return None
    known = isinstance(value, dict) and isinstance(value.get("choices"), list)
    return value if known else None


def faults(events: Sequence[str], asked: dict[str, Any]) -> list[str]:
    """Return what OpenAI would not have sent in this stream, each as a phrase.

    Args:
        events: One stream of one choice, without the blank lines.
        asked: The request's body.
    """
    found = []
    chunks = [chunk for event in events if (chunk := chunk_of(event))]
    if not events or events[-1] != f"data: {DONE}":
        found.append("it does not end with [DONE]")
    if len(chunks) != len(events) - 1:
        found.append("an event is neither a chunk nor a last [DONE]")
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    deltas = [choice["delta"] for choice in choices]
    if [at for at, delta in enumerate(deltas) if "role" in delta] != [0]:
        found.append("the role is not in the first chunk, and there only")
    found += [
        f"{key} is null"
        for key in ("role", "content", "tool_calls")
        if any(key in delta and delta[key] is None for delta in deltas)
    ]
    if any("stop_reason" in choice for choice in choices):
        found.append("stop_reason is NVIDIA's own")
    ends = [choice for choice in choices if choice.get("finish_reason")]
    if len(ends) != 1 or ends != choices[-1:] or ends[0]["delta"]:
        found.append("the finish reason does not stand alone at the end")
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    if any(("id" in call) != (call["function"]["arguments"] == "") for call in calls):
        found.append("a tool call's head and its arguments are not apart")
    counted = [at for at, chunk in enumerate(chunks) if chunk.get("usage")]
    empty = [at for at, chunk in enumerate(chunks) if not chunk["choices"]]
    wanted = [len(chunks) - 1] if _counts(asked) else []
    if counted != wanted or empty != wanted:
        found.append("usage does not come once, at the end, if it was asked for")
    return found


def _counts(asked: dict[str, Any]) -> bool:
    return bool((asked.get("stream_options") or {}).get("include_usage"))


# What simple clients make of a stream


def shown(events: Sequence[str]) -> str:
    """Return what a page shows that appends str(delta["content"])."""
    return "".join(
        str(choice["delta"]["content"])
        for event in events
        for choice in (chunk_of(event) or {"choices": ()})["choices"]
        if "content" in choice["delta"]
    )


def called(events: Sequence[str]) -> str:
    """Return what an agent calls that reads no delta beside a finish reason."""
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
