# mypy: ignore-errors
# The library is not in the project's environment.
"""The chat completions model of OpenAI's Agents SDK."""

import asyncio
from contextlib import aclosing
from typing import Any

import openai
import serve
from agents import (
    FunctionTool,
    ModelSettings,
    ModelTracing,
    OpenAIChatCompletionsModel,
    set_tracing_disabled,
)
from serve import Json, client

set_tracing_disabled(True)

# One for all cases: each would set up TLS anew, and a connection belongs to its loop.
SDK = openai.AsyncOpenAI(
    api_key="made-up", base_url="http://127.0.0.1", max_retries=0, timeout=10
)
LOOP = asyncio.Runner()
# What the model sets by itself.
OWN = ("model", "messages", "stream", "stream_options", "tools")
# Each of these carries the whole response, with the time at which it was made.
WHOLE = ("response.created", "response.completed")


async def call_nothing(*_: Any) -> str:
    """Stand in for a tool, which only a run of an agent would call."""
    return ""


def note_output(output: list[Any], usage: Any, outcome: Json) -> None:
    """Report the items of an answer."""
    outcome["output"] = [item.model_dump(exclude_none=True) for item in output]
    outcome["usage"] = usage and [
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
    ]


async def ask(url: str, request: Json, report: Json) -> None:
    """Read the events of a stream, or the whole answer."""
    model = OpenAIChatCompletionsModel(request["model"], SDK.with_options(base_url=url))
    asked = {
        "system_instructions": None,
        "input": request["messages"],
        "model_settings": ModelSettings(
            include_usage=request.get("stream_options", {}).get("include_usage"),
            extra_args={name: request[name] for name in request if name not in OWN},
        ),
        "tools": [
            FunctionTool(
                name=tool["function"]["name"],
                description=tool["function"]["description"],
                params_json_schema=tool["function"]["parameters"],
                on_invoke_tool=call_nothing,
            )
            for tool in request.get("tools", [])
        ],
        "output_schema": None,
        "handoffs": [],
        "tracing": ModelTracing.DISABLED,
    }
    if not request.get("stream"):
        answer = await model.get_response(**asked)
        note_output(answer.output, answer.usage, report["outcome"])
        return
    async with aclosing(model.stream_response(**asked)) as stream:
        async for event in stream:
            if event.type not in WHOLE:
                report["events"].append(event.model_dump(exclude_none=True))
                continue
            report["events"].append(event.type)
            note_output(event.response.output, event.response.usage, report["outcome"])


@client("openai-agents")
def chat(url: str, request: Json, report: Json) -> None:
    """OpenAIChatCompletionsModel: a stream's events, or the whole answer."""
    LOOP.run(ask(url, request, report))


if __name__ == "__main__":
    serve.main()
