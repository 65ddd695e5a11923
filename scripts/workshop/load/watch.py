"""The processor, watched while the parts of a load pass."""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

from workshop.load.paced import Phase
from workshop.traffic.memory import machine_busy, weigh

type Say = Callable[[str], None]
"""Takes a line of progress."""


class Mark(NamedTuple):
    """What has been worked at a moment: by mitmdump, and by what has no part in this."""

    at: float
    proxy: float
    elsewhere: float


class Watch:
    """Watches, as long as it is entered.

    Args:
        pid: Mitmdump.
        ours: All processes of the measurement.
        phases: The parts.
        say: Takes a line of progress.
    """

    def __init__(
        self, pid: int, ours: Sequence[int], phases: Sequence[Phase], say: Say
    ) -> None:
        self._pid = pid
        self._ours = ours
        self._phases = phases
        self._say = say
        self._marks: list[Mark] = []

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if len(self._marks) <= len(self._phases):  # the last part has just ended
            self._marks.append(self._mark())

    @property
    def shares(self) -> list[tuple[float, float]]:
        """For each part, cores that mitmdump used, and that the others did."""
        return [
            (
                (end.proxy - start.proxy) / (end.at - start.at),
                (end.elsewhere - start.elsewhere) / (end.at - start.at),
            )
            for start, end in pairwise(self._marks)
        ]

    async def _run(self) -> None:
        self._marks.append(self._mark())
        for phase in self._phases:
            began = time.monotonic()
            while (left := began + phase.seconds - time.monotonic()) > 0:
                await asyncio.sleep(min(left, 5))
                done = time.monotonic() - began
                self._say(f"  {phase.rate:g} events/s each: {done:.0f} s")
            self._marks.append(self._mark())

    def _mark(self) -> Mark:
        ours = sum(weigh(pid).cpu for pid in self._ours)
        proxy = weigh(self._pid).cpu
        return Mark(time.monotonic(), proxy, machine_busy() - ours)
