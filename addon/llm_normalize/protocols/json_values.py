"""JSON values read leniently: what is of another type counts as not there."""

from ..wire.json_text import Json
from .protocol import JsonObject


def as_object(value: Json) -> JsonObject:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return *value* if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_string(value: Json) -> str:
    """Return *value* if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def objects_in(value: Json) -> list[JsonObject]:
    """Return the objects in a list; none for anything else."""
    return [each for each in as_list(value) if isinstance(each, dict)]
