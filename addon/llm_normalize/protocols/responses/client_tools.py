"""OpenAI's own tools that the client runs: only their models know the forms, so others get a description."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...wire.call_arguments import INVALID
from ...wire.json_text import Json, as_list, as_object, as_string, objects_in
from ..protocol import JsonObject

_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "integer"}
_IS_JSON = ("{", "[", '"', "`")
_KEYS = ("input", "patch", "diff", INVALID)
_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)\n?", re.MULTILINE)
_ENDS = re.compile(r"^\*\*\* (?:Begin|End) Patch[ \t]*\n?", re.MULTILINE)
_OPERATIONS = {"Add": "create_file", "Update": "update_file", "Delete": "delete_file"}
_NOTHING_FOUND = "No tool was found."


def _schema(required: str, properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required.split()}


@dataclass(frozen=True, slots=True)
class ClientTool:
    """One of them.

    Attributes:
        kind: Its type; the function that stands for it has the same name.
        call: The type of the items of its calls.
        about: What it does.
        parameters: The schema of the function.
        item: The fields of a call, of the arguments that the model gives.
        arguments: The arguments, of the fields of a call.
    """

    kind: str
    call: str
    about: str
    parameters: JsonObject
    item: Callable[[JsonObject], JsonObject]
    arguments: Callable[[JsonObject], Json]


def _command(given: JsonObject) -> Json:
    """Return the text that a model wrote in the place of arguments, as a command.

    What was to be JSON, and broke off, is none: a shell must not run it.
    """
    text = as_string(given.get("input")) or as_string(given.get(INVALID))
    return None if text.lstrip().startswith(_IS_JSON) else text or None


def _local_shell(given: JsonObject) -> JsonObject:
    command = given.get("command") or _command(given)
    words = ["bash", "-lc", command] if isinstance(command, str) else as_list(command)
    others = {key: each for key, each in given.items() if key != INVALID}
    more = {"env": as_object(given.get("env")), "command": words}
    return {"action": {**(others if words else given), "type": "exec", **more}}


def _shell(given: JsonObject) -> JsonObject:
    commands = given.get("commands", given.get("command")) or _command(given)
    listed = [commands] if isinstance(commands, str) else as_list(commands)
    limits = {key: given.get(key) for key in ("timeout_ms", "max_output_length")}
    return {"action": {"commands": listed, **limits}}


def _action(item: JsonObject) -> JsonObject:
    """Return the arguments of a command that is run, of its item."""
    given = as_object(item.get("action"))
    rest = {key: each for key, each in given.items() if each not in (None, {})}
    rest.pop("type", None)
    return rest


def _patch(given: JsonObject) -> JsonObject:
    operation = as_object(given.get("operation")) or given
    if not operation.get("path"):
        words = (as_string(operation.get(key)) for key in _KEYS)
        operation = {**operation, **_operation(next(filter(None, words), ""))}
    kind, path = operation.get("type", "update_file"), operation.get("path")
    found: JsonObject = {"type": kind, "path": as_string(path)}
    if kind != "delete_file":
        found["diff"] = as_string(operation.get("diff"))
    return {"operation": found}


def _operation(text: str) -> JsonObject:
    """Return what a whole patch does to its file; models know that form from elsewhere.

    Without one file, it goes to the client as it is: that refuses it, and the model sees why.
    """
    files = [*_FILE.finditer(text)]
    if len(files) != 1:
        return {"diff": text}
    (file,) = files
    diff = _ENDS.sub("", text[file.end() :])
    return {"type": _OPERATIONS[file[1]], "path": file[2].strip(), "diff": diff}


CLIENT_TOOLS = {
    each.kind: each
    for each in (
        ClientTool(
            "local_shell",
            "local_shell_call",
            "Runs a command on the user's machine.",
            _schema(
                "command",
                {
                    "command": {
                        "type": "array",
                        "items": _TEXT,
                        "description": "The program and its arguments.",
                    },
                    "working_directory": _TEXT,
                    "timeout_ms": _NUMBER,
                    "env": {"type": "object", "additionalProperties": _TEXT},
                },
            ),
            _local_shell,
            _action,
        ),
        ClientTool(
            "shell",
            "shell_call",
            "Runs commands in a shell on the user's machine.",
            _schema(
                "commands",
                {
                    "commands": {"type": "array", "items": _TEXT},
                    "timeout_ms": _NUMBER,
                    "max_output_length": _NUMBER,
                },
            ),
            _shell,
            _action,
        ),
        ClientTool(
            "apply_patch",
            "apply_patch_call",
            "Creates, changes or deletes a file.",
            _schema(
                "type path",
                {
                    "type": {
                        "type": "string",
                        "enum": ["create_file", "update_file", "delete_file"],
                    },
                    "path": _TEXT,
                    "diff": {
                        "type": "string",
                        "description": "In the V4A format, without the lines that name "
                        "the file: `@@` before each hunk, and each line begins with a "
                        "blank, `-` or `+`.",
                    },
                },
            ),
            _patch,
            lambda item: item.get("operation"),
        ),
        ClientTool(
            "tool_search",
            "tool_search_call",
            "Searches for more tools.",
            _schema("query", {"query": _TEXT, "limit": _NUMBER}),
            lambda given: {"execution": "client", "arguments": given},
            lambda item: item.get("arguments"),
        ),
    )
}
"""By their types."""
CALLS = {each.call: each for each in CLIENT_TOOLS.values()}
"""By the types of their calls."""


def client_tool(tool: JsonObject) -> ClientTool | None:
    """Return which of them a *tool* of a request is; None if it is none."""
    found = CLIENT_TOOLS.get(as_string(tool.get("type")))
    place = as_object(tool.get("environment")).get("type", "local")
    is_hosted = place != "local" or (
        # OpenAI searches itself, unless the client says that it does.
        found is CLIENT_TOOLS["tool_search"] and tool.get("execution") != "client"
    )
    return None if is_hosted else found


def found_tools(output: JsonObject) -> str:
    """Return what an *output* of a search for tools tells the model."""
    lines = []
    for tool in objects_in(output.get("tools")):
        inner = objects_in(tool.get("tools")) or [tool]
        about = (tool, *(() if inner == [tool] else inner))
        lines += [_line(each) for each in about]
    words = ("These tools were found, and can be called now:", *lines)
    return "\n".join(words) if lines else _NOTHING_FOUND


def _line(tool: JsonObject) -> str:
    name, about = (as_string(tool.get(key)) for key in ("name", "description"))
    return f"{name}: {about}" if about else name
