"""The calls of an answer and of a conversation: their ids, and their arguments as an object."""

import re
from collections.abc import Iterable

from ..wire.json_text import Json, dumps, loads_leniently, value_in
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


INVALID = "INVALID_JSON"
"""The key that Anthropic's documentation proposes for arguments that are no JSON."""


def arguments_in(text: str) -> JsonObject:
    """Return the arguments that a call spells as *text*.

    Clients give them to a program that expects an object, and providers refuse a
    conversation with others. So what is none (text that breaks off, a list, a key that is
    there twice) becomes the only value of one, which a tool refuses and the model sees
    again, instead of a call without its arguments. Some models spell an object as a string.
    """
    value = value_in(_bytes(text.strip() or "{}"))
    if isinstance(value, str):
        value = value_in(_bytes(value))
    return value if isinstance(value, dict) else {INVALID: text}


def spelled(given: Json) -> str:
    """Return the arguments of a call in a conversation as chat has them.

    An object that is spelled already stays as it is.
    """
    if not isinstance(given, str):
        text = "{}" if given is None else dumps(given).decode()
    else:
        text = given.strip() or "{}"
    try:
        if isinstance(loads_leniently(_bytes(text)), dict):
            return text
    except (ValueError, RecursionError):
        """It is spelled anew."""
    return dumps(arguments_in(text)).decode()


def _bytes(text: str) -> bytes:
    return text.encode(errors="backslashreplace")
