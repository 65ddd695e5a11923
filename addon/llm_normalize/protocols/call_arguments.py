"""The arguments of a call: clients and providers want an object."""

from collections.abc import Callable

from ..wire.json_text import Json, dumps, loads, loads_leniently
from .protocol import JsonObject

INVALID = "INVALID_JSON"
"""The key that Anthropic's documentation proposes for arguments that are no JSON."""


def arguments_in(text: str) -> JsonObject:
    """Return the arguments that a call spells as *text*.

    Clients give them to a program that expects an object, and providers refuse a
    conversation with others. So what is none (text that breaks off, a list, a key that is
    there twice) becomes the only value of one, which a tool refuses and the model sees
    again, instead of a call without its arguments. Some models spell an object as a string.
    """
    value = _parsed(text.strip() or "{}")
    if isinstance(value, str):
        value = _parsed(value)
    return value if isinstance(value, dict) else {INVALID: text}


def spelled(given: Json) -> str:
    """Return the arguments of a call in a conversation as chat has them.

    An object that is spelled already stays as it is.
    """
    if not isinstance(given, str):
        text = "{}" if given is None else dumps(given).decode()
    else:
        text = given.strip() or "{}"
    is_object = isinstance(_parsed(text, loads_leniently), dict)
    return text if is_object else dumps(arguments_in(text)).decode()


def _parsed(text: str, parse: Callable[[bytes], Json] = loads) -> Json:
    try:
        return parse(text.encode(errors="backslashreplace"))
    except (ValueError, RecursionError):
        return None
