"""Tools and their calls: chat's names for a request's tools, and the ids and arguments of calls.

Chat has functions only, in one flat list, and providers take names of 64 letters, digits,
`_` and `-`. The table of names is made anew from each request, so that nothing has to be
stored.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from ..wire.json_text import Json, as_object, as_string
from ..wire.limits import MAX_EVENT
from .protocol import JsonObject

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 64
_DIGEST = 8
_BETWEEN = "__"
_COUNTED = re.compile(r"_\d+\Z")


@dataclass(frozen=True, slots=True)
class Tool:
    """What the client calls a tool.

    Attributes:
        name: Its name.
        namespace: What it is in, if it is in one.
        kind: Its type, in the client's protocol.
    """

    name: str
    namespace: str | None = None
    kind: str = "function"


class ToolNames:
    """The names of the tools of one request."""

    def __init__(self) -> None:
        self._names: dict[tuple[str | None, str], str] = {}
        self._tools: dict[str, Tool] = {}
        self._found: dict[str, dict[str, None]] = {}
        """Those that a model may mean by a name that is none of them, by that name."""

    def flat_name(self, name: str, namespace: str | None = None) -> str:
        """Return chat's name for a tool, which need not be among those declared."""
        flat = self._names.get((namespace, name))
        if flat is None:
            whole = name
            if namespace:
                whole = f"{namespace.removesuffix(_BETWEEN)}{_BETWEEN}{name}"
            flat = _NOT_IN_A_NAME.sub("_", whole)
            if len(flat) > _LONGEST or flat in self._tools:
                digest = sha256(repr((namespace, name)).encode()).hexdigest()[:_DIGEST]
                flat = f"{flat[: _LONGEST - _DIGEST - 1]}_{digest}"
            self._names[namespace, name] = flat
            self._tools[flat] = Tool(name, namespace)
            for meant in {_bare(name), _bare(whole)}:
                self._found.setdefault(meant, {})[flat] = None
        return flat

    def declare(self, tool: Tool) -> str:
        """Return chat's name for a *tool* of the request."""
        flat = self.flat_name(tool.name, tool.namespace)
        self._tools[flat] = tool
        return flat

    def declared(self, name: str, namespace: str | None = None) -> Tool | None:
        """Return the tool that a call means; None if it is none of those that are known."""
        whole = f"{namespace}{_BETWEEN}{name}" if namespace else name
        tool = self.called(self._names.get((namespace, name), whole))
        return tool if (tool.namespace, tool.name) in self._names else None

    def called(self, flat: str) -> Tool:
        """Return the tool that the model calls *flat*.

        Models leave the namespace out of a name that is clear without it, or write another
        separator behind it: `server.tool` for `server__tool`.
        """
        if flat in self._tools:
            return self._tools[flat]
        found = [*self._found.get(_bare(flat), ())]
        return self._tools[found[0]] if len(found) == 1 else Tool(flat)


def _bare(name: str) -> str:
    return _SEPARATORS.sub("_", name)


class CallIds:
    """Gives each call of an answer an id that its conversation does not have yet.

    Some providers count anew in each answer: `call_0`. Messages and Responses require ids
    that are unique in a conversation. Claude Code drops the second call of an id from it,
    and the result of one that is called as a known one with `_` and digits behind it, but
    not with `-`. A provider takes any id, as long as a call and its result agree.

    Args:
        known: The ids of the calls that are known.
        unnamed: What a call without an id is called.
    """

    def __init__(self, known: Iterable[str], unnamed: str = "call_0") -> None:
        self._known = set(known)
        self._unnamed = unnamed
        self._numbers: dict[str, int] = {}
        self._left = MAX_EVENT
        """Letters of further ids that are remembered."""

    @classmethod
    def of(cls, messages: Iterable[JsonObject]) -> Self:
        """Return those for the answer to the *messages* of a chat request."""
        calls = (each.get("tool_calls", ()) for each in messages)
        return cls(call["id"] for made in calls for call in made)

    def take(self, given: Json) -> str:
        """Return the id for a call that its provider names *given*: the same, if it is unique.

        Of an answer with very many letters of ids, further ones are not compared.
        """
        wanted = as_string(given) or self._unnamed
        name, number = wanted, self._numbers.get(wanted, 1)
        while {name, _COUNTED.sub("", name)} & self._known:
            number += 1
            name = f"{wanted}-{number}"
        if number > 1:
            self._numbers[wanted] = number
        self._left -= len(name)
        if self._left >= 0:
            self._known.add(name)
        return name


def chat_call(call_id: str, name: str, arguments: str) -> JsonObject:
    """Return a call as a message of chat has it."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def object_schema(given: Json) -> JsonObject:
    """Return the schema of a tool's parameters as providers ask for it.

    With a type and properties, also of a tool that takes nothing, or has a choice alone.
    """
    made = {"type": "object", "properties": {}, **as_object(given)}
    return made if made["type"] is not None else {**made, "type": "object"}
