# mypy: ignore-errors
# The SDK is not in the project's environment.
"""A tool loop by the openai SDK's Responses, as people write it; for any version of it."""

import json
from typing import Any

import openai
from serve import Json, begin_turn

TURNS = 3


def note_event(event: Any, turn: Json) -> Any:
    """Report what an event of a stream brings, and return the response that ends it."""
    if event.type == "response.output_text.delta":
        turn["text"] += event.delta
    elif event.type in (
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
    ):
        turn["reasoning"] += event.delta
    elif event.type in (
        "response.completed",
        "response.incomplete",
        "response.failed",
    ):
        return event.response
    return None


def note_response(response: Any, turn: Json) -> None:
    """Report the whole answer."""
    details = response.incomplete_details
    turn["finish"] = details.reason if details else response.status
    turn["whole"] = [reasoning_of(response.output), text_of(response.output)]
    turn["calls"] = [
        [item.name, json.loads(item.arguments)]
        for item in response.output
        if item.type == "function_call"
    ]
    if response.usage:
        turn["usage"] = [response.usage.input_tokens, response.usage.output_tokens]
    if response.error:
        turn["error"] = response.error.message


def reasoning_of(output: list[Any]) -> str:
    """Return what was thought."""
    items = [item for item in output if item.type == "reasoning"]
    return "".join(part.text for item in items for part in item.summary)


def text_of(output: list[Any]) -> str:
    """Return what was said."""
    items = [item for item in output if item.type == "message"]
    return "".join(part.text for item in items for part in item.content)


def sent_back(item: Any, request: Json) -> Json:
    """Return an item of an answer as the next request has it."""
    if request.get("store") and item.type != "function_call":
        return {"type": "item_reference", "id": item.id}
    return item.model_dump(exclude_none=True)


def loop(sdk: openai.OpenAI, request: Json, report: Json) -> None:
    """Ask until there is no call, for each prompt."""
    given = []
    for prompt in request["prompts"]:
        given.append({"role": "user", "content": prompt})
        answer(sdk, request, given, report)


def answer(sdk: openai.OpenAI, request: Json, given: list[Json], report: Json) -> None:
    """Ask until there is no call; what is said comes to what is *given*."""
    tools = [{"type": "function", **tool} for tool in request["tools"]]
    for _ in range(TURNS):
        turn = begin_turn(report)
        response = sdk.responses.create(
            model=request["model"],
            instructions=request["system"],
            input=given,
            tools=tools,
            store=request.get("store", False),
            include=["reasoning.encrypted_content"],
            stream=request["stream"],
        )
        if request["stream"]:
            ends = [note_event(event, turn) for event in response]
            response = next(filter(None, ends), None)
        if response is None:
            return
        note_response(response, turn)
        given += [sent_back(item, request) for item in response.output]
        if not turn["calls"]:
            return
        given += [
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": request["result"],
            }
            for item in response.output
            if item.type == "function_call"
        ]
