"""What the calls of a native response call, by what their client has declared.

Servers that know functions alone get the tools of Codex past them as functions, and tell it of a
call of one: by the name that they have made of namespace and name, and whatever the tool is.
"""

from contextlib import suppress
from functools import cached_property

from ...json_values import as_list, objects_in
from ...protocol import JsonObject, UntranslatableError
from ...tool_names import Tool, ToolNames
from ..tools import Tools

_BRINGERS = ("additional_tools", "tool_search_output")
"""The types of items that declare further tools."""


class DeclaredTools:
    """The tools of one request. They are read when the first is called.

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
