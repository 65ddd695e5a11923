"""Processor and memory, watched while the parts of a load pass."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Self

from _traffic_memory import Sampler, machine_busy, weigh
from _traffic_paced import Phase

type Say = Callable[[str], None]
"""Takes a line of progress."""


class Watch:
    """Watches processor and memory while the parts of a run pass.

    Attributes:
        shares: For each part: mitmdump's share of a core, and what the rest of the
            machine worked that has no part in this.
    """

    def __init__(
        self, pid: int, ours: Sequence[int], phases: Sequence[Phase], say: Say
    ) -> None:
        self.shares: list[tuple[float, float]] = [(0.0, 0.0)] * len(phases)
        self._ours = ours
        self._phases = phases
        self._sampler = Sampler(pid, 0.5)
        self._say = say

    async def __aenter__(self) -> Self:
        await self._sampler.__aenter__()
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._sampler.__aexit__(*exc)

    @property
    def peak(self) -> int:
        """The most memory that was seen, in bytes."""
        return self._sampler.peak

    async def _run(self) -> None:
        for at, phase in enumerate(self._phases):
            began = time.monotonic()
            first = self._worked()
            while (left := began + phase.seconds - time.monotonic()) > 0:
                await asyncio.sleep(min(left, 5))
                done = time.monotonic() - began
                self._say(f"  {phase.rate:g} events/s each: {done:.0f} s")
            took = time.monotonic() - began
            proxy, elsewhere = (
                (b - a) / took for a, b in zip(first, self._worked(), strict=True)
            )
            self.shares[at] = (proxy, elsewhere)

    def _worked(self) -> tuple[float, float]:
        ours = [weigh(pid).cpu for pid in self._ours]
        return ours[0], machine_busy() - sum(ours)
