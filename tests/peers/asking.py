"""What the clients of the peers ask for, and what they say that they got."""

from typing import Any

type Json = dict[str, Any]
"""What a client asks, or reports."""

TOOL = {
    "type": "function",
    "function": {
        "name": "ring_bell",
        "parameters": {
            "type": "object",
            "properties": {"times": {"type": "integer"}},
            "required": ["times"],
            "additionalProperties": False,
        },
        "strict": True,  # what the SDK's parse() asks for
    },
}
FORCED = {"type": "function", "function": {"name": "ring_bell"}}


def ask(
    model: str,
    *,
    stream: bool = False,
    usage: bool = False,
    tools: bool = False,
    forced: bool = False,
    empty: bool = False,
) -> Json:
    """Return a request."""
    messages = [] if empty else [{"role": "user", "content": "When is tea?"}]
    request: Json = {"model": model, "messages": messages}
    if stream:
        request["stream"] = True
    if usage:
        request["stream_options"] = {"include_usage": True}
    if tools or forced:
        request |= {"tools": [TOOL], "tool_choice": FORCED if forced else "auto"}
    return request


def reported(report: Json) -> Json:
    """Return the same of every client: only what it reports at all.

    `calls` has for each call whether it has an id, the name and the arguments.
    """
    outcome = report["outcome"]
    said: Json = {}
    if "faults" in outcome:
        said["faults"] = sorted({" ".join(each) for each in outcome["faults"]})
    elif "error" in outcome:
        said["error"] = _error(outcome["error"])
    if "text" in outcome:
        said["text"] = outcome["text"] or ""
        said["calls"] = _calls(outcome)
    if "finish" in outcome:
        said["finish"] = outcome["finish"]
    if "done" in outcome:
        said["done"] = [each[0] for each in outcome["done"]]
    if outcome.get("usage"):
        numbers = outcome["usage"]
        said["usage"] = (numbers["prompt_tokens"], numbers["completion_tokens"])
    return said


def _calls(outcome: Json) -> list[tuple[bool, str, str]]:
    calls = outcome.get("calls", ())
    if isinstance(calls, dict):  # by index
        return [
            (bool(call["id"]), call["name"], call["arguments"])
            for call in calls.values()
        ]
    if "arguments" in outcome:  # of all calls together
        return [(bool(each[0]), each[2], outcome["arguments"]) for each in calls]
    found = []
    for call in calls:
        if isinstance(call, dict):
            function = call["function"]
            found.append((bool(call["id"]), function["name"], function["arguments"]))
        else:
            found.append((bool(call[0]), call[2], call[3]))
    return found


def _error(error: list[Any]) -> str:
    words = error[1]
    body = words.get("body") if isinstance(words, dict) else words
    return str(body.get("message") if isinstance(body, dict) else body)
