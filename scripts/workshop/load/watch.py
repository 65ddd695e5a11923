"""The processor, watched while the parts of a load pass."""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from workshop.load.paced import Phase
from workshop.traffic.memory import machine_busy, weigh

type Say = Callable[[str], None]
"""Takes a line of progress."""


async def watch(
    pid: int, others: Sequence[int], phases: Sequence[Phase], say: Say
) -> list[tuple[float, float]]:
    """Return for each part, when all are over, the cores that were used meanwhile.

    By mitmdump, and by what has no part in this.

    Args:
        pid: Mitmdump.
        others: The other processes of the measurement.
        phases: The parts.
        say: Takes a line of progress.
    """

    def mark() -> tuple[float, float, float]:
        proxy = weigh(pid).cpu
        ours = proxy + sum(weigh(each).cpu for each in others)
        return time.monotonic(), proxy, machine_busy() - ours

    marks = [mark()]
    for phase in phases:
        began = time.monotonic()
        while (left := began + phase.seconds - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 5))
            done = time.monotonic() - began
            say(f"  {phase.rate:g} events/s each: {done:.0f} s")
        marks.append(mark())
    return [
        ((proxy - used) / (end - start), (elsewhere - before) / (end - start))
        for (start, used, before), (end, proxy, elsewhere) in pairwise(marks)
    ]
