# mypy: ignore-errors
# LangChain is not in the project's environment.
"""A program around a LangChain chat model, whichever provider it is made for."""

import os
from typing import Any

os.environ["LANGCHAIN_TRACING_V2"] = os.environ["LANGSMITH_TRACING"] = "false"

from langchain_core.messages import AIMessage, convert_to_messages
from serve import Json

# What the model takes when it is made or asked, not as a parameter of the request.
OWN = ("model", "messages", "stream", "stream_options", "tools", "tool_choice")


def said_of(message: AIMessage) -> Json:
    """Return what a message says, whole or a piece; its id may be made up."""
    said = {
        "text": message.content,
        "calls": message.tool_calls,
        "invalid": message.invalid_tool_calls,
        "more": message.additional_kwargs,
        "usage": message.usage_metadata,
        "metadata": message.response_metadata,
    }
    if hasattr(message, "tool_call_chunks"):
        said["fragments"] = message.tool_call_chunks
    return said


def chat(model: Any, request: Json, report: Json) -> None:
    """Ask *model* with stream() or invoke(), tools bound with bind_tools()."""
    more = {name: request[name] for name in request if name not in OWN}
    messages = convert_to_messages(request["messages"])
    if "tools" in request:
        chosen = {name: request[name] for name in ("tool_choice",) if name in request}
        model = model.bind_tools(request["tools"], **chosen)
    if not request.get("stream"):
        report["outcome"].update(said_of(model.invoke(messages, **more)))
        return
    whole = None
    for piece in model.stream(messages, **more):
        report["events"].append(said_of(piece))
        whole = piece if whole is None else whole + piece
        report["outcome"].update(said_of(whole))
