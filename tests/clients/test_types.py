"""The forms of answers that are written from the libraries' types are still those."""

import copy
import json
import sys
from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from clients.missing_environment import needed
from clients.programs import runners
from llm_normalize.conformance import chunk_faults, completion_faults
from llm_normalize.conformance.openai_types import ChatCompletion, ChatCompletionChunk
from script_runs import ended
from workshop import ROOT, answer_types

ODD: list[Any] = [None, "", "x", 0, 1.5, True, [], {}, [None], [1], [{}], "function"]
"""Values one of which is wrong anywhere."""


def asked(source: str, *model: str, values: Any = None) -> str:
    """Return what the program prints in the environment that has the library."""
    client = answer_types.SOURCES[source].client
    (runner,) = (each for each in runners() if each.name == client)
    with needed(client):
        python, *_ = runner.command()
    return ended(
        [python, "-s", answer_types.__file__, source, *model],
        input=json.dumps(values),
        check=True,
    ).stdout


def formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "-"]
    return ended(command, input=text, check=True).stdout


@pytest.mark.parametrize("source", answer_types.SOURCES)
def test_types_are_those_of_the_library(
    source: str, pytestconfig: pytest.Config
) -> None:
    path = ROOT / answer_types.SOURCES[source].path
    text = asked(source)
    text = formatted(text) if path.suffix == ".py" else text
    if pytestconfig.getoption("--update-types"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == text


def example(kind: Any, which: int) -> Any:
    """Return a value of *kind* with all there can be, where it is of one type or another."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return {key: example(each, which) for key, each in get_type_hints(kind).items()}
    if origin is list:
        return [example(inner[0], which)]
    if origin is dict:
        return {"key": example(inner[1], which)}
    if origin is Literal:
        return inner[which]
    if inner:
        return example([each for each in inner if each is not NoneType][which], which)
    return {str: "x", int: 1, float: 0.5, bool: True}[kind]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in list(entries):
        yield value, key
        if isinstance(entry, dict | list):
            yield from places(entry)


def damaged(whole: Any) -> Iterator[Any]:
    """Yield *whole* with one value taken away or replaced, wherever it is."""
    for at, (holder, _) in enumerate(places(whole)):
        for odd in [*ODD, *[ODD] * isinstance(holder, dict)]:
            value = copy.deepcopy(whole)
            inside, key = [*places(value)][at]
            if odd is ODD:
                del inside[key]
            else:
                inside[key] = odd
            yield value


@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize(
    ("kind", "faults"),
    [(ChatCompletionChunk, chunk_faults), (ChatCompletion, completion_faults)],
)
def test_value_is_as_the_library_takes_it(kind: Any, faults: Any, which: int) -> None:
    whole = example(kind, which)
    assert faults(whole) == []
    values = [whole, *damaged(whole)]
    taken = json.loads(asked("chat", kind.__name__, values=values))
    found = zip(values, taken, strict=True)
    assert [value for value, fits in found if fits != (not faults(value))] == []
