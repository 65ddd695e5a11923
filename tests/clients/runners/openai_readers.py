# mypy: ignore-errors
# The SDK is not in the project's environment.
"""Programs around the openai SDK, as people write them; for any version of it."""

from typing import Any

import openai
from serve import Json

# One for all cases: each would set up TLS anew. No retries: they wait and hide errors.
SDK = openai.OpenAI(
    api_key="made-up", base_url="http://127.0.0.1", max_retries=0, timeout=10
)


def at(url: str) -> openai.OpenAI:
    """Return the SDK for the provider at *url*."""
    return SDK.with_options(base_url=url)


def usage_of(usage: Any) -> Json | None:
    """Return the figures as a dict, or None."""
    if usage is None:
        return None
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: getattr(usage, name) for name in names}


def calls_of(message: Any) -> list[list[str]]:
    """Return the tool calls of a whole message."""
    return [
        [call.id, call.type, call.function.name, call.function.arguments]
        for call in message.tool_calls or []
    ]


def note_whole(completion: Any, outcome: Json) -> None:
    """Report a whole answer."""
    choice = completion.choices[0]
    outcome["role"] = choice.message.role
    outcome["text"] = choice.message.content
    outcome["calls"] = calls_of(choice.message)
    outcome["finish"] = choice.finish_reason
    outcome["usage"] = usage_of(completion.usage)


def careful(url: str, request: Json, report: Json) -> None:
    """Read as the documentation says: test everything, join fragments by index."""
    note_answer(at(url).chat.completions.create(**request), request, report)


def note_answer(answer: Any, request: Json, report: Json) -> None:
    """Report what create() gave."""
    outcome, events = report["outcome"], report["events"]
    if not request.get("stream"):
        note_whole(answer, outcome)
        return
    outcome.update(text="", calls={}, finish=None, usage=None)
    for chunk in answer:
        if chunk.usage:
            outcome["usage"] = usage_of(chunk.usage)
            events.append("usage")
        for choice in chunk.choices or []:
            delta = choice.delta
            if delta and delta.content:
                outcome["text"] += delta.content
                events.append(["text", delta.content])
            for call in (delta and delta.tool_calls) or []:
                seen = outcome["calls"].setdefault(
                    str(call.index), {"id": "", "name": "", "arguments": ""}
                )
                if call.id:
                    seen["id"] = call.id
                if call.function:
                    seen["name"] += call.function.name or ""
                    seen["arguments"] += call.function.arguments or ""
                events.append(["call", call.index, call.function.arguments])
            if choice.finish_reason:
                outcome["finish"] = choice.finish_reason
                events.append(["finish", choice.finish_reason])


def short(url: str, request: Json, report: Json) -> None:
    """Read as guides do: one line, no tests."""
    outcome, events = report["outcome"], report["events"]
    answer = at(url).chat.completions.create(**request)
    outcome["text"] = ""
    if not request.get("stream"):
        outcome["text"] = answer.choices[0].message.content or ""
        return
    for chunk in answer:
        text = chunk.choices[0].delta.content or ""
        outcome["text"] += text
        events.append(text)


def page(url: str, request: Json, report: Json) -> None:
    """Show str(content) until the finish reason comes."""
    outcome, events = report["outcome"], report["events"]
    answer = at(url).chat.completions.create(**request)
    outcome["shown"] = ""
    if not request.get("stream"):
        outcome["shown"] = str(answer.choices[0].message.content)
        return
    for chunk in answer:
        choice = chunk.choices[0]
        if choice.finish_reason:
            break
        outcome["shown"] += str(choice.delta.content)
        events.append(str(choice.delta.content))


def helper(completions: Any, request: Json, report: Json) -> None:
    """Read with the SDK's accumulating helper, `parse()` for a whole answer."""
    outcome, events = report["outcome"], report["events"]
    if not request.get("stream"):
        note_whole(completions.parse(**request), outcome)
        return
    asked = {name: request[name] for name in request if name != "stream"}
    outcome["done"] = []
    with completions.stream(**asked) as stream:
        for event in stream:
            if event.type == "content.delta":
                events.append(["text", event.delta])
            elif event.type == "content.done":
                outcome["done"].append(["text", event.content])
            elif event.type == "tool_calls.function.arguments.delta":
                events.append(["call", event.index, event.arguments_delta])
            elif event.type == "tool_calls.function.arguments.done":
                outcome["done"].append(
                    ["call", event.index, event.name, event.arguments]
                )
            elif event.type != "chunk":
                events.append([event.type])
        note_whole(stream.get_final_completion(), outcome)
