"""Streams for tests: run bytes through a pipeline, cut in every way that matters."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import Fix, HoldingFix
from llm_normalize.repair.look import Finding
from llm_normalize.repair.outcome import EventRecord

STREAM = Asked(stream=True)
ANY = Finding.LEFT_NULL - 1
"""All that is found in chunks which no fix has changed."""
_SINGLE = 64
"""Bytes at the begin and at the end of a stream that are read one at a time."""
_FEW = 12
"""How many the other reads have, on the average."""


def feed(
    reads: Iterable[bytes],
    asked: Asked = STREAM,
    fixes: Sequence[type[Fix]] = FIXES,
    *,
    ended: bool = True,
    steps: list[EventRecord] | None = None,
) -> list[bytes]:
    """Return what leaves at each read, and at the end, if it comes to one."""
    taken: list[EventRecord] = [] if steps is None else steps
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
    steps: list[EventRecord] | None = None,
) -> bytes:
    """Return the whole of what leaves; require the same for tiny reads."""
    whole = b"".join(feed([data], asked, fixes, ended=ended, steps=steps))
    assert b"".join(feed(tiny_reads(data), asked, fixes, ended=ended)) == whole
    return whole


def tiny_reads(data: bytes) -> Iterator[bytes]:
    """Yield *data* one byte at a time, and by a few between its begin and its end.

    A long stream repeats itself there, and nearly all of its time goes into its reads.
    """
    size = len(data)
    inside = range(_SINGLE, size - _SINGLE)
    places = random.Random(data).sample(inside, len(inside) // _FEW)
    starts = [*range(min(_SINGLE, size)), *sorted(places)]
    starts += range(max(_SINGLE, size - _SINGLE), size)
    for start, end in pairwise([*starts, size]):
        yield data[start:end]


def paused(reads: Iterable[bytes], asked: Asked) -> bytes:
    """Return the whole of what leaves if the provider pauses after each read."""
    pipeline = Pipeline(asked, FIXES)
    out = []
    for read in reads:
        out += pipeline.feed(read)
        if pipeline.waiting is not None:
            out += pipeline.release()
    return b"".join([*out, *pipeline.end()])


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Yield *data* whole, one byte at a time, and cut at random."""
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    dice = random.Random(data)
    for _ in range(5):
        places = sorted(dice.choices(range(len(data) + 1), k=3))
        starts = [0, *places]
        yield [
            data[start:end]
            for start, end in zip(starts, [*places, len(data)], strict=True)
        ]


def without(*names: str) -> list[type[Fix]]:
    """Return the fixes that are on by default, but for these."""
    return [fix for fix in FIXES if fix.name not in names]


def alone(fix: type[Fix]) -> list[type[Fix]]:
    """Return *fix* as the only one: it acts on chunks that nothing else has changed."""
    every = (
        {"handles": ANY, "flush": lambda _: []} if fix.handles & Finding.LEFT else {}
    )
    return [type(fix.__name__, (fix, HoldingFix), every)]
