"""Hostile answers cost as much more as they are longer: none holds the proxy up."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from growth import MOST, growth
from llm_normalize.body import repair_body
from llm_normalize.fix import chunk, completion, head, wire
from llm_normalize.fixes import FIXES
from llm_normalize.masking import mask
from llm_normalize.pipeline import Pipeline
from llm_normalize.stream_state import Asked

READ = 64 * 1024
ASKED = Asked(stream=True, tools=True, model="m", id="q")

type Make = Callable[[int], bytes]


def through(data: bytes) -> int:
    """Send *data* through a stream's repair; return how much came out."""
    pipeline = Pipeline(ASKED, FIXES)
    size = 0
    for at in range(0, len(data), READ):
        size += sum(map(len, pipeline.feed(data[at : at + READ])))
    return size + sum(map(len, pipeline.end()))


def choices(count: int, **more: Any) -> bytes:
    one = {"delta": {"content": "a"}, "finish_reason": None, **more}
    return wire([chunk(None, choices=[{"index": at, **one} for at in range(count)])])


STREAMS: dict[str, tuple[Make, int]] = {
    "backslashes": (lambda n: b'data: {"a":"' + b"\\" * n + b'"}\n\n', 60_000),
    "quotes": (lambda n: b"data: " + b'"' * n + b"\n\n", 500_000),
    "open brackets": (lambda n: b"data: " + b"[" * n + b"\n\n", 20_000),
    "open objects": (lambda n: b"data: " + b'{"a":' * n + b"\n\n", 8_000),
    "glued objects": (lambda n: b"data: " + b"{}" * n + b"\n\n", 2_000),
    "doubled names": (lambda n: b"data: " * n + b"{}\n\n", 60_000),
    "carriage returns": (lambda n: b"\r" * n, 20_000),
    "events ended by them": (lambda n: b"data: {}\r" * n + b"\n", 1_000),
    "line feeds": (lambda n: b"\n" * n, 20_000),
    "data lines of one event": (lambda n: b"data: {\n" * n + b"\n", 4_000),
    "other lines of one event": (lambda n: b"event: x\n" * n + b"data: {}\n\n", 6_000),
    "comments": (lambda n: b": x\n" * n + b"\n", 10_000),
    "blanks": (lambda n: b"data:" + b" " * n + b"\n\n", 500_000),
    "blanks before a value": (lambda n: b" \t" * n + b"{", 200_000),
    "lines of a value": (lambda n: b"{\n" + b'"a":1,\n' * n, 4_000),
    "values without data": (lambda n: b"{}\n" * n, 1_000),
    "digits": (lambda n: b'data: {"choices":[],"x":' + b"9" * n + b"}\n\n", 500_000),
    "keys": (
        lambda n: wire([chunk({}, **{f"k{at}": None for at in range(n)})]),
        10_000,
    ),
    "choices": (choices, 1_000),
    "choices that end": (lambda n: choices(n, finish_reason="stop"), 1_000),
    "one choice many times": (lambda n: choices(n, index=0), 4_000),
    "parts of a content": (
        lambda n: wire([chunk({"content": [{"type": "text", "text": "a"}] * n})]),
        8_000,
    ),
    "one call many times": (
        lambda n: wire([chunk({"tool_calls": [head()] * n})]),
        1_000,
    ),
    "ends": (lambda n: b"data: [DONE]\n\n" * n, 4_000),
    "errors": (lambda n: b'data: {"error":{"message":"x"}}\n\n' * n, 1_000),
}


@pytest.mark.parametrize("name", STREAMS)
def test_work_on_a_stream_grows_with_its_size_alone(name: str) -> None:
    make, size = STREAMS[name]
    assert growth(make, through, size) < MOST


def body(status: int) -> Callable[[bytes], object]:
    return lambda data: repair_body(data, status, Asked(id="q", model="m"), FIXES)


def dumped(make: Callable[[int], Any]) -> Make:
    return lambda n: json.dumps(make(n)).encode()


BODIES: dict[str, tuple[Make, int, int]] = {
    "calls": (
        dumped(
            lambda n: completion(
                {"tool_calls": [head(at, id=f"c{at}") for at in range(n)]}
            )
        ),
        500,
        200,
    ),
    "choices": (
        dumped(lambda n: completion({}, choices=[{"message": {"content": "a"}}] * n)),
        2_000,
        200,
    ),
    "a stream": (lambda n: wire([chunk({"content": "a"})] * n), 300, 200),
    "details": (
        dumped(lambda n: {"detail": [{"loc": ["a"], "msg": "x"}] * n}),
        2_000,
        422,
    ),
    "errors in errors": (
        dumped(lambda n: {"error": {"error": [{"error": {"message": ""}}] * n}}),
        2_000,
        500,
    ),
    "angle brackets": (lambda n: b"<html>" + b"<" * n, 60_000, 502),
    "words": (lambda n: b"expired" + b" limit" * n, 40_000, 500),
}


@pytest.mark.parametrize("name", BODIES)
def test_work_on_a_body_grows_with_its_size_alone(name: str) -> None:
    make, size, status = BODIES[name]
    assert growth(make, body(status), size) < MOST


TEXTS: dict[str, tuple[Callable[[int], str], int]] = {
    "quotes": (lambda n: '"input' + "\\" * n, 100_000),
    "names": (lambda n: '"input" ' * n, 20_000),
    "open objects": (lambda n: '{"input":1}' + '{"a":' * n, 20_000),
    "objects": (lambda n: "{}" * n + '{"input":1}' + "x" * 200 * n, 1_500),
    "strings": (lambda n: json.dumps({"a": ['"input": x'] * n}), 4_000),
}


@pytest.mark.parametrize("name", TEXTS)
def test_work_of_masking_grows_with_the_text_alone(name: str) -> None:
    make, size = TEXTS[name]
    assert growth(make, mask, size) < MOST
