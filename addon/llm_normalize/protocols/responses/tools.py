"""The tools of a request under names that chat knows, and the way back to the client's.

Chat has functions only, in one flat list, and providers take names of 64 letters, digits,
`_` and `-`. The table is made anew from each request, so that nothing has to be stored.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from ...wire.json_text import Json
from ..json_values import as_object, as_string
from ..protocol import JsonObject, UntranslatableError

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
_DIGEST = 8
_BETWEEN = "__"
INPUT = "input"
"""The one argument of the function that stands for a custom tool."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What the client calls a tool."""

    name: str
    namespace: str | None = None
    is_custom: bool = False


class Tools:
    """The tools of one request."""

    def __init__(self) -> None:
        self.dropped: list[str] = []
        self._definitions: dict[str, JsonObject] = {}
        self._names: dict[tuple[str | None, str], str] = {}
        self._tools: dict[str, Tool] = {}
        self._flat_names: dict[str, list[str]] = {}
        """Those of the tools of one name, which may be in several namespaces."""

    @property
    def definitions(self) -> list[JsonObject]:
        """The functions for chat."""
        return [*self._definitions.values()]

    def add(self, tools: Json, path: str) -> None:
        """Add *tools* in the client's form; a tool that is there already is replaced."""
        for at, tool in enumerate(_list(tools, path)):
            self._add(tool, f"{path}[{at}]", None, "")

    def _add(self, tool: Json, path: str, namespace: str | None, about: str) -> None:
        if not isinstance(tool, dict):
            raise UntranslatableError("A tool has to be an object.", path)
        kind = tool.get("type", "function")
        if kind == "namespace":
            # What is said of all of them is said once: a server's words may be long.
            about = as_string(tool.get("description"))
            inner = _list(tool.get("tools"), f"{path}.tools")
            for at, each in enumerate(inner):
                place = f"{path}.tools[{at}]"
                self._add(each, place, _name(tool, path), "" if at else about)
        elif kind in ("function", "custom"):
            name = _name(tool, path)
            flat = self.flat_name(name, namespace)
            self._tools[flat] = Tool(name, namespace, kind == "custom")
            make = _custom if kind == "custom" else _function
            self._definitions[flat] = make(flat, tool, about)
        else:
            self.dropped.append(path)  # the provider cannot run what OpenAI hosts

    def flat_name(self, name: str, namespace: str | None) -> str:
        """Return chat's name for a tool, which need not be among those added."""
        flat = self._names.get((namespace, name))
        if flat is None:
            whole = (
                f"{namespace.removesuffix(_BETWEEN)}{_BETWEEN}{name}"
                if namespace
                else name
            )
            flat = _NOT_IN_A_NAME.sub("_", whole)
            if len(flat) > _LONGEST or flat in self._tools:
                digest = sha256(repr((namespace, name)).encode()).hexdigest()[:_DIGEST]
                flat = f"{flat[: _LONGEST - _DIGEST - 1]}_{digest}"
            self._names[namespace, name] = flat
            self._tools[flat] = Tool(name, namespace)
            self._flat_names.setdefault(name, []).append(flat)
        return flat

    def flat_name_in(self, naming: JsonObject, path: str) -> str:
        """Return chat's name for the tool that a call or a choice names."""
        namespace = as_string(naming.get("namespace")) or None
        return self.flat_name(_name(naming, path), namespace)

    def called(self, flat: str) -> Tool:
        """Return the tool that the model calls *flat*.

        Models leave the namespace out of a name that is clear without it.
        """
        if flat in self._tools:
            return self._tools[flat]
        found = self._flat_names.get(flat, ())
        return self._tools[found[0]] if len(found) == 1 else Tool(flat)

    def chosen(self, given: Json) -> tuple[list[JsonObject], Json]:
        """Return the tools among which a `tool_choice` has to choose, and chat's choice.

        The choice is None where chat has no place for it.
        """
        if not isinstance(given, dict):
            return self.definitions, given
        kind = given.get("type")
        if kind == "allowed_tools":
            allowed = [
                self.flat_name_in(each, "tool_choice.tools")
                for each in _list(given.get("tools"), "tool_choice.tools")
                if isinstance(each, dict) and "name" in each
            ]
            found = [self._definitions[x] for x in allowed if x in self._definitions]
            return found, given.get("mode")
        if kind in ("function", "custom"):
            flat = self.flat_name_in(given, "tool_choice")
            return self.definitions, {"type": "function", "function": {"name": flat}}
        return self.definitions, None


def _function(flat: str, tool: JsonObject, about: str) -> JsonObject:
    # Providers want a schema, though it says nothing.
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    function = {"name": flat, **_described(about, tool), "parameters": schema}
    if tool.get("strict") is not None:
        function["strict"] = tool["strict"]
    return {"type": "function", "function": function}


def _custom(flat: str, tool: JsonObject, about: str) -> JsonObject:
    form = as_object(tool.get("format"))
    grammar = as_string(form.get("definition"))
    means = "The whole input of the tool, as text: this string alone is what it gets."
    if grammar:
        means += f" It has to follow this {as_string(form.get('syntax'))} grammar:\n{grammar}"
    parameters = {
        "type": "object",
        "properties": {INPUT: {"type": "string", "description": means}},
        "required": [INPUT],
        "additionalProperties": False,
    }
    function = {"name": flat, **_described(about, tool), "parameters": parameters}
    return {"type": "function", "function": function}


def _described(about: str, tool: JsonObject) -> JsonObject:
    words = "\n\n".join(filter(None, (about, as_string(tool.get("description")))))
    return {"description": words} if words else {}


def _name(tool: JsonObject, path: str) -> str:
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise UntranslatableError("A tool needs a name.", f"{path}.name")
    return name


def _list(value: Json, path: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UntranslatableError("A list of tools was expected.", path)
    return value
