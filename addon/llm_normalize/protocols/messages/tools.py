"""Tools, and which of them the model may call."""

import re
from collections.abc import Collection, Iterable, Sequence

from ...wire.json_text import Json
from ..json_values import as_list, as_object, as_string
from ..protocol import JsonObject, UntranslatableError
from ..tool_names import ToolNames
from .client_tools import schema_of
from .dropped import Dropped

CHANGES = ("tool_addition", "tool_removal")
"""The blocks by which a system message changes the tools in mid-conversation."""

_KNOWN = {"type", "name", "description", "input_schema"}
_CHOICE = {"type", "name", "disable_parallel_tool_use"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_HOSTED = re.compile(r"(web_search|web_fetch|code_execution|mcp_toolset)(?:_\d+)?\Z")
"""Types of tools that run at Anthropic, and whose results the client shows as facts."""


def put_tools(
    request: JsonObject,
    changes: Sequence[JsonObject],
    chat: JsonObject,
    names: ToolNames,
    dropped: Dropped,
) -> None:
    """Give *chat* the tools of *request*, as they are after all *changes*.

    Raises:
        UntranslatableError: It asks for what only Anthropic runs.
    """
    if request.get("mcp_servers"):
        words = "mcp_servers: this provider calls no MCP server: have your client do so"
        raise UntranslatableError(words, "mcp_servers")
    given = as_list(request.get("tools"))
    declared = _functions(given, names, dropped)
    active = dict.fromkeys(declared)
    for change in changes:
        tool = change.get("tool")
        about = as_object(tool)
        if "definition" in about:
            found = _functions([about["definition"]], names, dropped)
            declared |= found
            active |= dict.fromkeys(found)
        elif change["type"] == "tool_removal":
            active.pop(str(about.get("name")), None)
        else:
            active |= dict.fromkeys({str(about.get("name"))} & declared.keys())
    choice = request.get("tool_choice")
    _refuse_hosted(given, active.keys(), as_object(choice))
    if active:
        chat["tools"] = [
            {"type": "function", "function": declared[name]} for name in active
        ]
        _put_choice(choice, active.keys(), names, chat, dropped)
    elif choice is not None:
        dropped.add("tool_choice")


def _refuse_hosted(
    tools: Iterable[Json], functions: Collection[str], choice: JsonObject
) -> None:
    """Refuse a request whose answer has to be made by a tool that runs at Anthropic.

    Without it, the model would make up what the tool is to find. Beside functions, a
    model that may choose goes on without.

    Raises:
        UntranslatableError: The request is one.
    """
    chosen = choice.get("name") if choice.get("type") == "tool" else None
    for tool in map(as_object, tools):
        kind = _HOSTED.match(as_string(tool.get("type")))
        is_wanted = not functions or (chosen is not None and chosen == tool.get("name"))
        if kind and is_wanted and choice.get("type") != "none":
            words = f"tools: this provider has no {kind[1]}: it runs at Anthropic only"
            raise UntranslatableError(words, "tools")


def _functions(
    tools: Iterable[Json], names: ToolNames, dropped: Dropped
) -> dict[str, JsonObject]:
    """Return the functions of *tools*, by the client's name.

    A tool without a schema runs at Anthropic, unless its form is known.
    """
    functions = {}
    for tool in map(as_object, tools):
        name, schema = as_string(tool.get("name")), tool.get("input_schema")
        about = tool.get("description")
        own = None if isinstance(schema, dict) else schema_of(tool)
        if own is not None:
            about, schema = own
        if isinstance(schema, dict) and name:
            dropped.beside("tools[]", tool, _KNOWN)
            functions[name] = _function(names.flat_name(name), about, schema)
        else:
            dropped.add("tools[].type")
    return functions


def _function(name: str, about: Json, schema: JsonObject) -> JsonObject:
    function: JsonObject = {"name": name}
    if about is not None:
        function["description"] = about
    # OpenAI asks for both keys, also of a tool that takes nothing.
    return function | {"parameters": {"type": "object", "properties": {}, **schema}}


def _put_choice(
    choice: Json,
    active: Collection[str],
    names: ToolNames,
    chat: JsonObject,
    dropped: Dropped,
) -> None:
    if not isinstance(choice, dict):
        return
    dropped.beside("tool_choice", choice, _CHOICE)
    kind, name = choice.get("type"), choice.get("name")
    if kind == "tool" and isinstance(name, str) and name in active:
        function = {"name": names.flat_name(name)}
        chat["tool_choice"] = {"type": "function", "function": function}
    elif kind in _CHOICES:
        chat["tool_choice"] = _CHOICES[kind]
    else:  # a tool that was dropped
        dropped.add("tool_choice.name")
    if choice.get("disable_parallel_tool_use") is True:
        chat["parallel_tool_calls"] = False
