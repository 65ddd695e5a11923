"""The arguments of a call, as an object and as the text that chat and Responses have."""

from .json_text import Json, dumps, loads_leniently, value_in

INVALID = "INVALID_JSON"
"""The key that Anthropic's documentation proposes for arguments that are no JSON."""
_NONE = ("", "null")


def arguments_in(text: str) -> dict[str, Json]:
    """Return the arguments that a call spells as *text*.

    Clients give them to a program that expects an object, and providers refuse a
    conversation with others. So what is none (text that breaks off, a list, a key that is
    there twice) becomes the only value of one, which a tool refuses and the model sees
    again, instead of a call without its arguments. Some models spell an object as a string.
    """
    if text.strip() in _NONE:
        return {}
    value = value_in(_bytes(text.strip()))
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
