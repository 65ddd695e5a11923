"""The ids of the calls in an answer."""

import re
from collections.abc import Iterable

from ..wire.json_text import Json
from .protocol import JsonObject

_COUNTED = re.compile(r"_\d+\Z")


class CallIds:
    """Gives each call of an answer an id that its conversation does not have yet.

    Some providers count anew in each answer: `call_0`. Messages and Responses require ids
    that are unique in a conversation. Claude Code drops the second call of an id from it,
    and the result of one that is called as a known one with `_` and digits behind it, but
    not with `-`. A provider takes any id, as long as a call and its result agree.

    Args:
        messages: The chat messages of the request, with the calls that are known.
    """

    def __init__(self, messages: Iterable[JsonObject]) -> None:
        calls = (each.get("tool_calls", ()) for each in messages)
        self._known = {call["id"] for made in calls for call in made}
        self._numbers: dict[str, int] = {}

    def take(self, given: Json) -> str:
        """Return the id for a call that chat names *given*: the same, if it is unique."""
        wanted = given if isinstance(given, str) and given else "call_0"
        name, number = wanted, self._numbers.get(wanted, 1)
        while {name, _COUNTED.sub("", name)} & self._known:
            number += 1
            name = f"{wanted}-{number}"
        self._numbers[wanted] = number
        self._known.add(name)
        return name
