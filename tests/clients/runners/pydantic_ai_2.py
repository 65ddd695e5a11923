# mypy: ignore-errors
# The library is not in the project's environment.
"""Pydantic AI's chat model for OpenAI."""

import asyncio
from dataclasses import asdict
from typing import Any

import openai
import serve
from pydantic_ai import ModelRequest, SystemPromptPart, ToolDefinition, UserPromptPart
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from serve import Json, client

# One for all cases: each would set up TLS anew, and a connection belongs to its loop.
SDK = openai.AsyncOpenAI(
    api_key="made-up", base_url="http://127.0.0.1", max_retries=0, timeout=10
)
LOOP = asyncio.Runner()
PARTS = {"system": SystemPromptPart, "user": UserPromptPart}
MADE_UP = "pyd_ai_"  # what the ids begin with that it gives to calls without one
# What the model sets by itself: it always asks for usage.
OWN = ("model", "messages", "stream", "stream_options", "tools")


def plain(value: Any) -> Any:
    """Return *value* as JSON has it, less times and ids that the library made up."""
    if isinstance(value, dict):
        return {
            name: plain(inner) for name, inner in value.items() if name != "timestamp"
        }
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, str) and value.startswith(MADE_UP):
        return "made up"
    return value if isinstance(value, int | float | str | None) else str(value)


def note_whole(response: Any, outcome: Json) -> None:
    """Report what has come of the answer so far."""
    outcome["parts"] = [plain(asdict(part)) for part in response.parts]
    outcome["finish"] = response.finish_reason
    outcome["details"] = plain(response.provider_details)
    outcome["usage"] = plain(asdict(response.usage))


async def ask(url: str, request: Json, report: Json) -> None:
    """Read the events of a stream, or the whole answer."""
    provider = OpenAIProvider(openai_client=SDK.with_options(base_url=url))
    parts = [PARTS[each["role"]](each["content"]) for each in request["messages"]]
    tools = [
        ToolDefinition(
            name=tool["function"]["name"],
            description=tool["function"]["description"],
            parameters_json_schema=tool["function"]["parameters"],
        )
        for tool in request.get("tools", [])
    ]
    asked = {
        "model": OpenAIChatModel(request["model"], provider=provider),
        "messages": [ModelRequest(parts)],
        "model_request_parameters": ModelRequestParameters(function_tools=tools),
        "model_settings": {
            "extra_body": {name: request[name] for name in request if name not in OWN}
        },
    }
    if not request.get("stream"):
        note_whole(await model_request(**asked), report["outcome"])
        return
    async with model_request_stream(**asked) as stream:
        async for event in stream:
            report["events"].append(plain(asdict(event)))
            note_whole(stream.get(), report["outcome"])
        note_whole(stream.get(), report["outcome"])


@client("pydantic-ai")
def chat(url: str, request: Json, report: Json) -> None:
    """OpenAIChatModel: a stream's events, or the whole answer."""
    LOOP.run(ask(url, request, report))


if __name__ == "__main__":
    serve.main()
