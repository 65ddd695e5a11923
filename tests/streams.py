"""Streams for tests: run bytes through a pipeline, cut in every way that matters."""

from collections.abc import Iterable, Sequence
from dataclasses import fields

from llm_normalize.fix import Example, Fix, wire
from llm_normalize.fixes import FIXES
from llm_normalize.pipeline import Pipeline
from llm_normalize.step import Step
from llm_normalize.stream_state import Asked

STREAM = Asked(stream=True)


def feed(
    reads: Iterable[bytes],
    asked: Asked = STREAM,
    fixes: Sequence[type[Fix]] = FIXES,
    *,
    ended: bool = True,
    steps: list[Step] | None = None,
) -> list[bytes]:
    """Return what leaves at each read, and at the end, if it comes to one."""
    taken: list[Step] = [] if steps is None else steps
    pipeline = Pipeline(asked, fixes, taken.append)
    out = [b"".join(pipeline.feed(read)) for read in reads]
    if ended:
        out.append(b"".join(pipeline.end()))
    else:
        pipeline.abandon()
    return out


def repaired(
    data: bytes,
    asked: Asked = STREAM,
    fixes: Sequence[type[Fix]] = FIXES,
    *,
    ended: bool = True,
    steps: list[Step] | None = None,
) -> bytes:
    """Return the whole of what leaves; require the same for bytes one at a time."""
    whole = b"".join(feed([data], asked, fixes, ended=ended, steps=steps))
    single = (data[at : at + 1] for at in range(len(data)))
    assert b"".join(feed(single, asked, fixes, ended=ended)) == whole
    return whole


def alone(fix: type[Fix]) -> list[type[Fix]]:
    """Return *fix* as the only one; what rides on others then acts by itself."""
    return [type(fix.__name__, (fix,), {"rides": False})]


def with_asked(asked: Asked, **what: object) -> Asked:
    known = {field.name: getattr(asked, field.name) for field in fields(asked)}
    return Asked(**{**known, **what})


def run_example(example: Example, fixes: Sequence[type[Fix]]) -> bytes:
    return repaired(wire(example.before), example.asked, fixes, ended=example.ended)
