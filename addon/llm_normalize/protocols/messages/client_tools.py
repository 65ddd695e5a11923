"""Anthropic's own tools that the client runs: only their models know the forms, so others get a description."""

from ...wire.json_text import Json
from ..protocol import JsonObject

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
