"""The tools that a request declares, and which of them a name in its answer means."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

_MARKS = re.compile(r"^(?:\s*<\|[^|<>]*\|>\s*)+")
_NUMBER = re.compile(r"[:#][0-9]+$")
_GLUED = re.compile(r"[\s_]?(?:json|code|commentary|analysis|final)$")
"""What stands behind a name in harmony, where a server drops the marks between."""
_NAMESPACE = re.compile(r"[\w-]*[.:/]+")
_OWN = "functions."
"""The namespace in which models that were trained on harmony see their tools."""
_LONG = 1000  # characters of a name with its wrapping
_DEPTH = 8  # of choices in choices
_NAMES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    type(None): "null",
    dict: "object",
    list: "array",
}
_QUOTES = " \t\r\n\"'`"


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a request.

    Attributes:
        names: Their names.
        bare: Those of them that take no arguments.
        schemas: The schemas of their parameters, by name and parameter.
    """

    names: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    schemas: dict[str, dict[str, Any]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(cls, request: dict[str, Any]) -> Self:
        """The tools declared in the body of a *request*, legacy functions too."""
        found = [request.get(key) for key in ("tools", "functions")]
        names, bare, schemas = set(), set(), dict[str, dict[str, Any]]()
        for tool in [each for some in found if isinstance(some, list) for each in some]:
            fields = _fields(tool)
            name = fields.get("name")
            if isinstance(name, str) and name:
                names.add(name)
                parameters = fields.get("parameters", {"properties": True})
                is_schema = isinstance(parameters, dict) and bool(parameters)
                properties = parameters.get("properties") if is_schema else None
                if is_schema and not properties:
                    bare.add(name)
                if isinstance(properties, dict):
                    schemas[name] = properties
        return cls(frozenset(names), frozenset(bare), schemas)

    def types_of(self, name: str, parameter: str) -> frozenset[str]:
        """Return the JSON types that a tool declares for a parameter; maybe none."""
        return frozenset(_types(self.schemas.get(name, {}).get(parameter)))

    def meant(self, given: str) -> str:
        """Return the declared name in *given*, with its wrapping cut; else *given*."""
        if not self.names or given in self.names or len(given) > _LONG:
            return given
        text = _MARKS.sub("", given.rpartition("to=")[2])
        text = _NUMBER.sub("", text.partition("<")[0].strip(_QUOTES))
        while text not in self.names:
            if (bare := _GLUED.sub("", text)) in self.names:
                return bare
            namespace = _NAMESPACE.match(text)
            if namespace is None:
                return given
            text = text[namespace.end() :]
        return text

    def unwrap(self, inner: Any) -> bool:
        """Cut the wrapping of the name in *inner*, if it has one; tell whether it had."""
        given = inner.get("name") if isinstance(inner, dict) else None
        if not given or given == (meant := self.meant(given)):
            return False
        inner["name"] = meant
        return True

    def may_grow(self, given: str) -> bool:
        """Tell whether *given* is only the begin of a declared name."""
        if not self.names or not given or self.meant(given) in self.names:
            return False
        begins = {given, given.rpartition(".")[2], given.rpartition(":")[2]}
        return _OWN.startswith(given) or any(
            name.startswith(begin) for begin in begins for name in self.names
        )


NONE = Tools()


def _types(schema: Any, depth: int = 0) -> Iterator[str]:
    """Yield the types that a *schema* names, and those of its values and choices."""
    if not isinstance(schema, dict) or depth > _DEPTH:
        return
    named = schema.get("type")
    yield from (each for each in _listed(named) if isinstance(each, str))
    for value in [] if named else _listed(schema.get("enum")):
        yield kind_of(value)
    for key in ("anyOf", "oneOf", "allOf"):
        for each in _listed(schema.get(key)):
            yield from _types(each, depth + 1)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def kind_of(value: Any) -> str:
    """JSON Schema's name for the type of *value*."""
    return _NAMES.get(type(value), "number")


def _fields(tool: Any) -> dict[str, Any]:
    """The part of a *tool* with its name."""
    if not isinstance(tool, dict):
        return {}
    inner = tool.get("function") or tool.get("custom")
    return inner if isinstance(inner, dict) else tool
