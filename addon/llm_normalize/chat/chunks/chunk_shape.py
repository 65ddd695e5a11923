"""The shape of a chunk: its keys and the kinds of their values, without words and numbers.

Chunks of one shape differ in nothing but texts and numbers, so what depends on neither
needs to be found only once for all of them.
"""

from ...wire.json_text import Json
from .chunk import Chunk

type Shape = tuple[object, ...]
"""The keys of an object in order, and then the kind of each value.

That is its class; for an object or a list its own shape; for what is empty, zero or
false a word; for an index its value. A list has each of its kinds once.
"""

_EMPTY: dict[type, str] = {
    str: "empty",
    int: "zero",
    bool: "false",
    type(None): "null",
    dict: "no keys",
    list: "no elements",
}
_SEVERAL = "several"  # elements in a list
_SMALL, _LARGE = 1024, 16 * 1024  # bytes
_PARTS = 256  # keys, and brackets, of a large chunk whose shape is asked for


def has_shape(payload: bytes) -> bool:
    """Tell whether the shape of the chunk in *payload* is so small that it may be kept."""
    size = len(payload)
    return size <= _SMALL or (
        size <= _LARGE
        and payload.count(b'":') <= _PARTS
        and payload.count(b"{") + payload.count(b"[") <= _PARTS
    )


def shape_of(value: Chunk) -> Shape:
    """Return the shape of a chunk, or of any other object.

    Raises:
        RecursionError: It is nested too deeply for Python.
    """
    found: list[object] = [*value]
    for key, each in value.items():
        kind = each.__class__
        if not each:
            found.append(_EMPTY.get(kind, kind))
        elif kind is str:  # nearly always
            found.append(kind)
        elif kind is dict:
            found.append(shape_of(each))
        elif kind is list:
            found.append(_shape_of_list(each))
        else:
            found.append(each if kind is int and key == "index" else kind)
    return tuple(found)


def _shape_of_list(values: list[Json]) -> Shape:
    if len(values) == 1 and values[0].__class__ is dict:
        return list, shape_of(values[0])  # nearly always
    kinds = dict.fromkeys(shape_of({"": each})[1] for each in values)
    return list, *([_SEVERAL] if len(values) > 1 else ()), *kinds


def keys_of(value: Json) -> tuple[set[str], set[str]]:
    """Return all keys in *value* at any depth, and those that have something in them.

    Nothing is in a key that is null, and in an empty list of `tool_calls`.
    """
    found, filled = set[str](), set[str]()
    inner = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        found |= value.keys()
        filled |= {
            key
            for key, each in value.items()
            if each is not None and not (key == "tool_calls" and each == [])
        }
        inner = [*value.values()]
    for each in inner:
        more, more_filled = keys_of(each)
        found |= more
        filled |= more_filled
    return found, filled
