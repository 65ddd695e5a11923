"""Microseconds per event of each stage and of each fix, in this process.

All of them by turns in every round, the state of a stream made anew for each, with the
events of the benchmark's streams: one that needs nothing, and NIM's.
"""

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from workshop.bench.figures import Spread
from workshop.bench.stages import STAGES, Work, events_of, fix_rows
from workshop.bench.traffic import KINDS, Kind

# CPU time where its clock is fine: others may be at work on this machine.
_now = time.perf_counter_ns if sys.platform == "win32" else time.thread_time_ns


def measure(
    rounds: int, events: int, announce: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Return what each row costs for each kind of stream, the dearest first.

    Args:
        rounds: How often each is timed.
        events: How many events each time.
        announce: Called with what is about to be done.
    """
    rows = [*STAGES, *fix_rows()]
    found: dict[tuple[int, Kind], list[float]] = {}
    for number in range(rounds + 1):
        announce(f"round {number} of {rounds}" if number else "warming up")
        gc.collect()
        for place, row in enumerate(rows):
            for kind in KINDS:
                cost = time_once(*row.make(kind, events_of(kind, events)))
                if number:
                    found.setdefault((place, kind), []).append(cost)
    lines = []
    for place, row in enumerate(rows):
        line: dict[str, Any] = {"group": row.group, "name": row.name}
        for kind in KINDS:
            spread = Spread.of(found[place, kind])
            assert spread is not None
            line[f"{kind}_us"] = spread.as_json()
        lines.append(line)
    return sorted(lines, key=lambda line: -line["nim_us"]["median"])


def time_once(work: Work, events: int) -> float:
    """Return the microseconds per event of *work*."""
    gc.disable()  # what others have made is not to be looked through meanwhile
    try:
        start = _now()
        work()
        return (_now() - start) / events / 1000
    finally:
        gc.enable()
