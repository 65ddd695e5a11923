"""What the envelope of a chunk says: which answer it is of, from when, by which model."""

from datetime import UTC, datetime
from typing import TypeGuard

from ...wire.json_text import Json, Number

LATEST = 10**11
"""The year 5138 in seconds: any later time is in a smaller unit."""
_NO_ID = ("", "chatcmpl", "chatcmpl-", "id", "none", "null", "string", "undefined")
_NO_MODEL = frozenset(
    [
        "model",
        "default",
        "default-model",
        "default_model",
        "none",
        "null",
        "placeholder",
        "string",
        "undefined",
        "unknown",
    ]
)


def names_answer(given: Json) -> TypeGuard[str]:
    """Tell whether *given*, an `id`, is a text and no placeholder."""
    return isinstance(given, str) and given.lower() not in _NO_ID


def names_model(given: Json) -> TypeGuard[str]:
    """Tell whether *given* is a text that names a model, and no placeholder."""
    return isinstance(given, str) and given.lower() not in _NO_MODEL and given != ""


def is_time(created: Json) -> bool:
    """Tell whether *created* is a time in whole seconds."""
    return type(created) is int and 0 < created < LATEST


def seconds_in(given: Json) -> float | None:
    """Return the time in *given*, maybe in a smaller unit; None where it is not a time."""
    text = given.text if isinstance(given, Number) else given
    if isinstance(text, bool) or not isinstance(text, str | int):
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = datetime.fromisoformat(str(text))
        except ValueError:
            return None
        seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except OverflowError:  # an integer of hundreds of digits
        return None
    return seconds if 0 < seconds < 10**30 else None
