# mypy: ignore-errors
# The library is not in the project's environment.
"""The chat completions model of OpenAI's Agents SDK."""

import asyncio
from contextlib import aclosing
from typing import Any

import openai
import responses_reader
import serve
from agents import (
    Agent,
    FunctionTool,
    ModelSettings,
    ModelTracing,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    set_tracing_disabled,
)
from serve import Json, begin_turn, client, responses

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


def agent_of(url: str, request: Json) -> Agent[None]:
    """Return an agent that runs the tools of *request*."""

    async def answer(*_: Any) -> str:
        return request["result"]

    return Agent(
        name="forecaster",
        instructions=request["system"],
        model=OpenAIResponsesModel(request["model"], SDK.with_options(base_url=url)),
        model_settings=ModelSettings(store=request.get("store", False)),
        tools=[
            FunctionTool(
                name=tool["name"],
                description=tool["description"],
                params_json_schema=tool["parameters"],
                on_invoke_tool=answer,
            )
            for tool in request["tools"]
        ],
    )


async def run_agent(url: str, request: Json, report: Json) -> None:
    """Run an agent to its end, for each prompt."""
    agent, given = agent_of(url, request), []
    for prompt in request["prompts"]:
        given = [*given, {"role": "user", "content": prompt}]
        result = await run_once(agent, given, request, report)
        given = result.to_input_list()


async def run_once(
    agent: Agent[None], given: list[Any], request: Json, report: Json
) -> Any:
    """Run an agent to its end."""
    if not request["stream"]:
        result = await Runner.run(agent, given, max_turns=3)
        report["outcome"]["final"] = result.final_output
        return result
    result = Runner.run_streamed(agent, given, max_turns=3)
    async for event in result.stream_events():
        if event.type != "raw_response_event":
            continue
        if event.data.type == "response.created":
            turn = begin_turn(report)
        elif response := responses_reader.note_event(event.data, turn):
            responses_reader.note_response(response, turn)
    report["outcome"]["final"] = result.final_output
    return result


@responses("openai-agents-responses")
def loop(url: str, request: Json, report: Json) -> None:
    """OpenAIResponsesModel: an agent that runs its tool."""
    LOOP.run(run_agent(url, request, report))


if __name__ == "__main__":
    serve.main()
