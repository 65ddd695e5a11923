# mypy: ignore-errors
# The library is not in the project's environment.
"""The model of smolagents for OpenAI-compatible servers."""

from typing import Any

import openai_readers
import serve
from serve import Json, client
from smolagents import OpenAIServerModel
from smolagents.models import MessageRole, agglomerate_stream_deltas

# What the model sets by itself: it always asks for usage.
OWN = ("model", "messages", "stream", "stream_options")


def usage_of(usage: Any) -> list[int] | None:
    """Return the figures, or None."""
    return usage and [usage.input_tokens, usage.output_tokens, usage.total_tokens]


def note_message(message: Any, outcome: Json) -> None:
    """Report a whole message."""
    outcome["role"] = MessageRole(message.role).value
    outcome["text"] = message.content
    outcome["calls"] = openai_readers.calls_of(message)
    outcome["usage"] = usage_of(message.token_usage)


@client("smolagents")
def chat(url: str, request: Json, report: Json) -> None:
    """OpenAIServerModel: generate_stream(), generate()."""
    model = OpenAIServerModel(
        request["model"], client=openai_readers.at(url), retry=False
    )
    more = {name: request[name] for name in request if name not in OWN}
    if not request.get("stream"):
        message = model.generate(request["messages"], **more)
        note_message(message, report["outcome"])
        report["outcome"]["finish"] = message.raw.choices[0].finish_reason
        return
    deltas = []
    for delta in model.generate_stream(request["messages"], **more):
        deltas.append(delta)
        calls = [
            [call.index, call.id, call.type, call.function and dict(call.function)]
            for call in delta.tool_calls or []
        ]
        report["events"].append([delta.content, calls, usage_of(delta.token_usage)])
        note_message(agglomerate_stream_deltas(deltas), report["outcome"])


if __name__ == "__main__":
    serve.main()
