"""Where a value differs from the types of OpenAI's library.

An optional field may be absent or null, keys that are not named are free, and no type is
coerced into another.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from .json_values import as_dict, as_int, as_list, as_str
from .openai_types import ChatCompletion, ChatCompletionChoice, ChatCompletionChunk

type _Check = Callable[[object, str], Iterator[str]]

_PLAIN: dict[object, tuple[str, Callable[[object], bool]]] = {
    str: ("a string", lambda v: isinstance(v, str)),
    int: ("an integer", lambda v: as_int(v) is not None),
    float: ("a number", lambda v: isinstance(v, float) or as_int(v) is not None),
    bool: ("a boolean", lambda v: isinstance(v, bool)),
}
FINISH_REASONS: tuple[str, ...] = get_args(
    get_type_hints(ChatCompletionChoice)["finish_reason"]
)


@functools.cache
def _check_of(kind: Any) -> _Check:
    """The check that lists the faults of a value of *kind* at a path."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return _record(kind)
    if origin is list:
        return _list_of(_check_of(inner[0]))
    if origin is dict:
        return _map_of(_check_of(inner[1]))
    if origin is Literal:
        name = f"one of {', '.join(inner)}"
        return _kind(name, lambda v: isinstance(v, str) and v in inner)
    if inner:
        return _union(inner)
    return _kind(*_PLAIN[kind])


def _kind(name: str, test: Callable[[object], bool]) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not test(value):
            yield f"{path} is not {name}"

    return check


def _list_of(item: _Check) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{path} is not a list"
        for position, entry in enumerate(as_list(value)):
            yield from item(entry, f"{path}[{position}]")

    return check


def _map_of(item: _Check) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path} is not an object"
        for key, entry in as_dict(value).items():
            yield from item(entry, f"{path}.{key}")

    return check


def _record(kind: Any) -> _Check:
    parts = {key: _check_of(each) for key, each in get_type_hints(kind).items()}

    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path or 'the value'} is not an object"
            return
        dot = f"{path}." if path else ""
        for key, part in parts.items():
            if key in value:
                yield from part(value[key], dot + key)
            elif key in kind.__required_keys__:
                yield f"{dot}{key} is missing"

    return check


def _union(kinds: tuple[Any, ...]) -> _Check:
    """The check of a value of several types: null, objects with a `type` each."""
    others = [each for each in kinds if each is not type(None)]
    part = _check_of(others[0]) if len(others) == 1 else _tagged(others)
    if len(others) == len(kinds):
        return part
    return lambda value, path: iter(()) if value is None else part(value, path)


def _tagged(kinds: list[Any]) -> _Check:
    variants = {
        tag: _check_of(kind)
        for kind in kinds
        for tag in get_args(get_type_hints(kind)["type"])
    }

    def check(value: object, path: str) -> Iterator[str]:
        variant = variants.get(as_str(as_dict(value).get("type")))
        if variant is None:
            yield f"{path}.type is not one of {', '.join(variants)}"
        else:
            yield from variant(value, path)

    return check


def chunk_faults(value: object) -> list[str]:
    """List where a value differs from `openai.types.chat.ChatCompletionChunk`."""
    return list(_check_of(ChatCompletionChunk)(value, ""))


def completion_faults(value: object) -> list[str]:
    """List where a value differs from `openai.types.chat.ChatCompletion`."""
    return list(_check_of(ChatCompletion)(value, ""))
