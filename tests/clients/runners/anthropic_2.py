# mypy: ignore-errors
# The SDK is not in the project's environment.
"""anthropic-sdk-python 2: a tool loop."""

from typing import Any

import anthropic
import serve
from serve import Json, begin_turn, messages

# No retries: they wait and hide errors.
SDK = anthropic.Anthropic(
    api_key="made-up", base_url="http://127.0.0.1", max_retries=0, timeout=10
)
TURNS = 3


def note_delta(delta: Any, turn: Json) -> None:
    """Report what a delta of a block brings."""
    if delta.type == "text_delta":
        turn["text"] += delta.text
    elif delta.type == "thinking_delta":
        turn["reasoning"] += delta.thinking


def note_message(message: Any, turn: Json) -> None:
    """Report the whole answer."""
    turn["finish"] = message.stop_reason
    turn["whole"] = [
        "".join(each.thinking for each in message.content if each.type == "thinking"),
        "".join(each.text for each in message.content if each.type == "text"),
    ]
    calls = [each for each in message.content if each.type == "tool_use"]
    turn["calls"] = [[call.name, call.input] for call in calls]
    turn["usage"] = [message.usage.input_tokens, message.usage.output_tokens]


def read(sdk: anthropic.Anthropic, asked: Json, stream: bool, turn: Json) -> Any:
    """Return the whole message."""
    if not stream:
        return sdk.messages.create(**asked)
    with sdk.messages.stream(**asked) as events:
        for event in events:
            if event.type == "content_block_delta":
                note_delta(event.delta, turn)
        return events.get_final_message()


@messages("anthropic2")
def loop(url: str, request: Json, report: Json) -> None:
    """messages.stream() and .create(), a tool loop."""
    sdk = SDK.with_options(base_url=url.removesuffix("/v1"))
    given = []
    for prompt in request["prompts"]:
        given.append({"role": "user", "content": prompt})
        answer(sdk, request, given, report)


def answer(
    sdk: anthropic.Anthropic, request: Json, given: list[Json], report: Json
) -> None:
    """Ask until there is no call; what is said comes to what is *given*."""
    tools = [
        {
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool["parameters"],
        }
        for tool in request["tools"]
    ]
    for _ in range(TURNS):
        turn = begin_turn(report)
        asked = {
            "model": request["model"],
            "max_tokens": 2000,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "system": request["system"],
            "messages": given,
            "tools": tools,
        }
        message = read(sdk, asked, request["stream"], turn)
        note_message(message, turn)
        given.append({"role": "assistant", "content": message.content})
        if not turn["calls"]:
            return
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block.id,
                "content": request["result"],
            }
            for block in message.content
            if block.type == "tool_use"
        ]
        given.append({"role": "user", "content": results})


if __name__ == "__main__":
    serve.main()
