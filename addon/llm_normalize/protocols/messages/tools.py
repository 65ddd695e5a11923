"""Tools, and which of them the model may call.

Only Anthropic's models know the forms of Anthropic's own tools that the client runs: others
get a description.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from ...wire.json_text import Json, as_list, as_object, as_string
from ..calls import ToolNames, object_schema
from ..protocol import JsonObject, UntranslatableError
from .content import Dropped

CHANGES = ("tool_addition", "tool_removal")
"""The blocks by which a system message changes the tools in mid-conversation."""

_KNOWN = {"type", "name", "description", "input_schema"}
_CHOICE = {"type", "name", "disable_parallel_tool_use"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_HOSTED = re.compile(r"(web_search|web_fetch|code_execution|mcp_toolset)(?:_\d+)?\Z")
"""Types of tools that run at Anthropic, and whose results the client shows as facts."""
_TEXT: JsonObject = {"type": "string"}
_LINES: JsonObject = {
    "type": "array",
    "items": {"type": "integer"},
    "description": "First and last line to view, from 1; -1 is the end of the file.",
}
_PATH: JsonObject = {"type": "string", "description": "Absolute path."}
_EDITS: JsonObject = {
    "path": _PATH,
    "view_range": _LINES,
    "file_text": {"type": "string", "description": "Of `create`: the whole text."},
    "old_str": {
        "type": "string",
        "description": "Of `str_replace`: text that is in the file exactly once.",
    },
    "new_str": {"type": "string", "description": "What replaces it."},
    "insert_line": {
        "type": "integer",
        "description": "Of `insert`: the line after which the text goes; 0 is the beginning.",
    },
    "insert_text": {"type": "string", "description": "Of `insert`: that text."},
}
_EDIT = ("view", "create", "str_replace", "insert")
_FUNCTIONS: tuple[tuple[str, str, JsonObject, tuple[str, ...]], ...] = (
    (
        "bash_",
        "Runs a command in a shell that stays open between calls.",
        {
            "command": _TEXT,
            "restart": {"type": "boolean", "description": "Start the shell anew."},
        },
        (),
    ),
    ("text_editor_", "Views and edits files.", _EDITS, _EDIT),
    (
        "memory_",
        "Keeps notes in files under /memories, from one conversation to the next.",
        {**_EDITS, "old_path": _PATH, "new_path": _PATH},
        (*_EDIT, "delete", "rename"),
    ),
)
"""Beginnings of types, behind which there is a date; what the function does, its
parameters, and the values of `command`, if they are a fixed list."""


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
    return function | {"parameters": object_schema(schema)}


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
    kind, name = as_string(choice.get("type")), choice.get("name")
    if kind == "tool" and isinstance(name, str) and name in active:
        function = {"name": names.flat_name(name)}
        chat["tool_choice"] = {"type": "function", "function": function}
    elif kind in _CHOICES:
        chat["tool_choice"] = _CHOICES[kind]
    else:  # a tool that was dropped
        dropped.add("tool_choice.name")
    if choice.get("disable_parallel_tool_use") is True:
        chat["parallel_tool_calls"] = False


def schema_of(tool: JsonObject) -> tuple[str, JsonObject] | None:
    """Return what a tool of Anthropic's own does, and its schema; None for any other."""
    kind: Json = tool.get("type")
    for beginning, about, parameters, commands in _FUNCTIONS:
        if isinstance(kind, str) and kind.startswith(beginning):
            properties, required = {**parameters}, list[Json]()
            if commands:
                properties = {"command": {**_TEXT, "enum": [*commands]}, **parameters}
                required = ["command"]
            found = {"type": "object", "properties": properties}
            return about, found | ({"required": required} if required else {})
    return None
