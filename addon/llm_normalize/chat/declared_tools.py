"""The tools that a request declares, and which of them a name in its answer means."""

import re
from dataclasses import dataclass
from typing import Any, Self

_MARKS = re.compile(r"^(?:\s*<\|[^|<>]*\|>\s*)+")
_NUMBER = re.compile(r"[:#][0-9]+$")
_NAMESPACE = re.compile(r"[\w-]*[.:/]+")
_OWN = "functions."
"""The namespace in which models that were trained on harmony see their tools."""
_QUOTES = " \t\r\n\"'`"


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a request.

    Attributes:
        names: Their names.
        bare: Those of them that take no arguments.
    """

    names: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()

    @classmethod
    def of(cls, request: dict[str, Any]) -> Self:
        """Return what the body of a *request* declares, legacy functions too."""
        found = [request.get(key) for key in ("tools", "functions")]
        names, bare = set(), set()
        for tool in [each for some in found if isinstance(some, list) for each in some]:
            fields = _fields(tool)
            name = fields.get("name")
            if isinstance(name, str) and name:
                names.add(name)
                parameters = fields.get("parameters", {"properties": True})
                is_schema = isinstance(parameters, dict) and bool(parameters)
                if is_schema and not parameters.get("properties"):
                    bare.add(name)
        return cls(frozenset(names), frozenset(bare))

    def meant(self, given: str) -> str:
        """Return the declared name in *given*, with its wrapping cut; else *given*."""
        if not self.names or given in self.names:
            return given
        text = _MARKS.sub("", given.rpartition("to=")[2])
        text = _NUMBER.sub("", text.partition("<")[0].strip(_QUOTES))
        while text not in self.names:
            namespace = _NAMESPACE.match(text)
            if namespace is None:
                return given
            text = text[namespace.end() :]
        return text

    def may_grow(self, given: str) -> bool:
        """Tell whether *given* is only the begin of a declared name."""
        if not self.names or not given or self.meant(given) in self.names:
            return False
        begins = {given, given.rpartition(".")[2], given.rpartition(":")[2]}
        return _OWN.startswith(given) or any(
            name.startswith(begin) for begin in begins for name in self.names
        )


NONE = Tools()


def _fields(tool: Any) -> dict[str, Any]:
    """Return what says the name of a *tool*."""
    if not isinstance(tool, dict):
        return {}
    inner = tool.get("function") or tool.get("custom")
    return inner if isinstance(inner, dict) else tool
