"""Tools, and which of them the model may call."""

from ...wire.json_text import Json
from ..protocol import JsonObject
from .dropped import Dropped

_KNOWN = {"type", "name", "description", "input_schema"}
_CHOICE = {"type", "name", "disable_parallel_tool_use"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def put_tools(request: JsonObject, chat: JsonObject, dropped: Dropped) -> None:
    """Give *chat* the tools of *request*.

    A tool without a schema runs at Anthropic, or its form is known there alone: nobody could
    call it.
    """
    given = request.get("tools")
    tools: list[JsonObject] = []
    for tool in given if isinstance(given, list) else []:
        if isinstance(tool, dict) and isinstance(tool.get("input_schema"), dict):
            dropped.beside("tools[]", tool, _KNOWN)
            tools.append({"type": "function", "function": _function(tool)})
        else:
            dropped.add("tools[].type")
    choice = request.get("tool_choice")
    if tools:
        chat["tools"] = tools
        _put_choice(choice, {each["function"]["name"] for each in tools}, chat, dropped)
    elif choice is not None:
        dropped.add("tool_choice")


def _function(tool: JsonObject) -> JsonObject:
    function: JsonObject = {"name": tool.get("name")}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    # OpenAI asks for both keys, also of a tool that takes nothing.
    return function | {
        "parameters": {"type": "object", "properties": {}, **tool["input_schema"]}
    }


def _put_choice(
    choice: Json, names: set[Json], chat: JsonObject, dropped: Dropped
) -> None:
    if not isinstance(choice, dict):
        return
    dropped.beside("tool_choice", choice, _CHOICE)
    kind, name = choice.get("type"), choice.get("name")
    if kind == "tool" and name in names:
        chat["tool_choice"] = {"type": "function", "function": {"name": name}}
    elif kind in _CHOICES:
        chat["tool_choice"] = _CHOICES[kind]
    else:  # a tool that was dropped
        dropped.add("tool_choice.name")
    if choice.get("disable_parallel_tool_use") is True:
        chat["parallel_tool_calls"] = False
