"""Where a value is not as a type says, the types being those of JSON and TypedDicts."""

import functools
import json
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_type_hints

_typed_dict: Any = typing.TypedDict
"""Takes fields that no type checker knows."""


def written(name: str) -> dict[str, Any]:
    """Return the types of a file here, by name: each is made of those before it."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    kinds: dict[str, Any] = {}
    for each, said in json.loads(text)["types"].items():
        if isinstance(said, str):
            kinds[each] = eval(said, vars(typing) | kinds)
        else:
            spelled = {key: eval(it, vars(typing) | kinds) for key, it in said.items()}
            kinds[each] = _typed_dict(each, spelled)
    return kinds


fields = functools.cache(get_type_hints)
"""The types of a TypedDict's keys, by key."""
get_args: Callable[[Any], tuple[Any, ...]] = functools.cache(typing.get_args)
get_origin: Callable[[Any], Any] = functools.cache(typing.get_origin)
is_typeddict: Callable[[Any], bool] = functools.cache(typing.is_typeddict)


def tags(kind: Any) -> tuple[str, ...]:
    """Return what the key `type` of a TypedDict may say."""
    return get_args(fields(kind).get("type")) if is_typeddict(kind) else ()


def faults(value: Any, kind: Any, path: str) -> Iterator[str]:
    """Yield where *value*, which is found at *path*, is not of *kind*."""
    if get_origin(kind) in (Union, UnionType):
        yield from _union_faults(value, get_args(kind), path)
    elif not _is(value, kind):
        yield f"{path} is {value!r}"
    else:
        if is_typeddict(kind):
            for key in sorted(kind.__required_keys__ - value.keys()):
                yield f"{path}.{key} is missing"
        for place, each, part in _parts(value, kind):
            yield from faults(each, part, f"{path}{place}")


def _union_faults(value: Any, kinds: tuple[Any, ...], path: str) -> Iterator[str]:
    tag = value.get("type") if isinstance(value, dict) else None
    tagged = [each for each in kinds if tag in tags(each)]
    likely = tagged or [each for each in kinds if (each is NoneType) == (value is None)]
    found = [[*faults(value, each, path)] for each in likely]
    if len(found) == 1:
        yield from found[0]
    elif all(found):
        yield f"{path} is {value!r}"


def _is(value: Any, kind: Any) -> bool:
    """Tell whether *value* is of *kind*, whatever it consists of."""
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if kind is Any or isinstance(value, bool):
        return kind in (Any, bool)
    if kind is float:
        return isinstance(value, int | float)
    return isinstance(value, dict if is_typeddict(kind) else get_origin(kind) or kind)


def _parts(value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield what *value* consists of: where it is, what it is, and what it is to be."""
    if is_typeddict(kind):
        for key in fields(kind).keys() & value.keys():
            yield f".{key}", value[key], fields(kind)[key]
    elif get_origin(kind) is list:
        for at, each in enumerate(value):
            yield f"[{at}]", each, get_args(kind)[0]
    elif get_origin(kind) is dict:
        for key, each in value.items():
            yield f".{key}", each, get_args(kind)[1]
