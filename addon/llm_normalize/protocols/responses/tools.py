"""The tools of a request as functions, and the model's choice among them."""

from contextlib import suppress
from functools import cached_property

from ...wire.json_text import Json, as_list, as_object, as_string, objects_in
from ..calls import Tool, ToolNames, object_schema
from ..protocol import JsonObject, UntranslatableError
from .client_tools import CLIENT_TOOLS, ClientTool, client_tool

INPUT = "input"
"""The one argument of the function that stands for a custom tool."""
_FORCED = "required"


class Tools:
    """The tools of one request.

    Attributes:
        names: Chat's names for them.
        dropped: Where those are that nobody can run.
    """

    def __init__(self) -> None:
        self.names = ToolNames()
        self.dropped: list[str] = []
        self._hosted: list[str] = []
        """The types of those."""
        self._definitions: dict[str, JsonObject] = {}

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
        kind = as_string(tool.get("type", "function"))
        if kind == "namespace":
            # What is said of all of them is said once: a server's words may be long.
            about = as_string(tool.get("description"))
            inner = _list(tool.get("tools"), f"{path}.tools")
            for at, each in enumerate(inner):
                place = f"{path}.tools[{at}]"
                self._add(each, place, _name(tool, path), "" if at else about)
        elif kind in ("function", "custom"):
            flat = self.names.declare(Tool(_name(tool, path), namespace, kind))
            make = _custom if kind == "custom" else _function
            self._definitions[flat] = make(flat, tool, about)
        elif form := client_tool(tool):
            flat = self.names.declare(Tool(kind, None, kind))
            self._definitions[flat] = _own(flat, tool, form)
        else:
            self.dropped.append(path)  # the provider cannot run what OpenAI hosts
            self._hosted.append(kind)

    def flat_name_in(self, naming: JsonObject, path: str) -> str:
        """Return chat's name for the tool that a call or a choice names."""
        namespace = as_string(naming.get("namespace")) or None
        return self.names.flat_name(_name(naming, path), namespace)

    def chosen(self, given: Json) -> tuple[list[JsonObject], Json]:
        """Return the tools among which a `tool_choice` has to choose, and chat's choice.

        The choice is None where chat has no place for it.

        Raises:
            UntranslatableError: It forces a tool that nobody can run here: the model
                would make up what that is to find.
        """
        found, choice = self._chosen(given)
        if not found and choice == _FORCED and self._hosted:
            raise _unrunnable(self._hosted[0])
        return found, choice

    def _chosen(self, given: Json) -> tuple[list[JsonObject], Json]:
        if not isinstance(given, dict):
            return self.definitions, given
        kind = as_string(given.get("type"))
        if kind == "allowed_tools":
            allowed = [
                self._flat_name_chosen(each)
                for each in _list(given.get("tools"), "tool_choice.tools")
                if isinstance(each, dict)
            ]
            found = [self._definitions[x] for x in allowed if x in self._definitions]
            return found, given.get("mode")
        flat = self._flat_name_chosen(given)
        if flat is None and kind:
            raise _unrunnable(kind)
        if flat is None:
            return self.definitions, None
        return self.definitions, {"type": "function", "function": {"name": flat}}

    def _flat_name_chosen(self, choice: JsonObject) -> str | None:
        """Return chat's name for what a *choice* names; None for a tool of OpenAI's."""
        kind = as_string(choice.get("type", "function"))
        if kind in ("function", "custom"):
            return self.flat_name_in(choice, "tool_choice")
        return self.names.flat_name(kind) if kind in CLIENT_TOOLS else None


def _unrunnable(kind: str) -> UntranslatableError:
    words = f"This provider cannot run {kind}: OpenAI alone does."
    return UntranslatableError(words, "tool_choice")


def _own(flat: str, tool: JsonObject, form: ClientTool) -> JsonObject:
    about = as_string(tool.get("description")) or form.about
    schema = as_object(tool.get("parameters")) or form.parameters
    function = {"name": flat, "description": about, "parameters": schema}
    return {"type": "function", "function": function}


def _function(flat: str, tool: JsonObject, about: str) -> JsonObject:
    schema = object_schema(tool.get("parameters"))
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


_BRINGERS = ("additional_tools", "tool_search_output")
"""The types of items that declare further tools."""


class DeclaredTools:
    """The tools of one request, for the calls of a native answer: read when the first is called.

    Servers that know functions alone get the tools of Codex past them as functions, and tell it
    of a call of one: by the name that they have made of namespace and name, and whatever the
    tool is.

    Args:
        request: The request.
    """

    def __init__(self, request: JsonObject) -> None:
        self._request = request

    def meant(self, tool: Tool) -> Tool | None:
        """Return the declared tool that a provider calls *tool*; None for none."""
        return self._names.declared(tool.name, tool.namespace) if tool.name else None

    @cached_property
    def _names(self) -> ToolNames:
        made = Tools()
        items = objects_in(self._request.get("input"))
        bringers = [each for each in items if each.get("type") in _BRINGERS]
        for each in (self._request, *bringers):
            for tool in as_list(each.get("tools")):
                with suppress(UntranslatableError):  # it is the provider's to refuse
                    made.add([tool], "tools")
        return made.names
