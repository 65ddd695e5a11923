"""Tools, and which of them the model may call."""

from collections.abc import Collection, Sequence

from ...wire.json_text import Json
from ..json_values import as_list, as_object
from ..protocol import JsonObject
from .dropped import Dropped

CHANGES = ("tool_addition", "tool_removal")
"""The blocks by which a system message changes the tools in mid-conversation."""

_KNOWN = {"type", "name", "description", "input_schema"}
_CHOICE = {"type", "name", "disable_parallel_tool_use"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def put_tools(
    request: JsonObject,
    changes: Sequence[JsonObject],
    chat: JsonObject,
    dropped: Dropped,
) -> None:
    """Give *chat* the tools of *request*, as they are after all *changes*."""
    given = request.get("tools")
    declared = _functions(as_list(given), dropped)
    active = dict.fromkeys(declared)
    for change in changes:
        tool = change.get("tool")
        about = as_object(tool)
        if "definition" in about:
            found = _functions([about["definition"]], dropped)
            declared |= found
            active |= dict.fromkeys(found)
        elif change["type"] == "tool_removal":
            active.pop(str(about.get("name")), None)
        else:
            active |= dict.fromkeys({str(about.get("name"))} & declared.keys())
    choice = request.get("tool_choice")
    if active:
        chat["tools"] = [
            {"type": "function", "function": declared[name]} for name in active
        ]
        _put_choice(choice, active.keys(), chat, dropped)
    elif choice is not None:
        dropped.add("tool_choice")


def _functions(tools: list[Json], dropped: Dropped) -> dict[str, JsonObject]:
    """Return the functions of *tools*, by name.

    A tool without a schema runs at Anthropic, or its form is known there alone: nobody could
    call it.
    """
    functions = {}
    for tool in tools:
        if (
            isinstance(tool, dict)
            and isinstance(tool.get("input_schema"), dict)
            and isinstance(tool.get("name"), str)
        ):
            dropped.beside("tools[]", tool, _KNOWN)
            functions[tool["name"]] = _function(tool)
        else:
            dropped.add("tools[].type")
    return functions


def _function(tool: JsonObject) -> JsonObject:
    function: JsonObject = {"name": tool["name"]}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    # OpenAI asks for both keys, also of a tool that takes nothing.
    return function | {
        "parameters": {"type": "object", "properties": {}, **tool["input_schema"]}
    }


def _put_choice(
    choice: Json, names: Collection[str], chat: JsonObject, dropped: Dropped
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
