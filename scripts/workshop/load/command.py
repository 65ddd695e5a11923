"""The load, measured: streams at once, streams held open, clients that hardly read."""

import asyncio
import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workshop import machine
from workshop.child import ChildError
from workshop.load import slow
from workshop.load.clients import Group
from workshop.load.figures import Figures, Memory, Part
from workshop.load.paced import Phase, seconds_at
from workshop.load.side import ALONE, STORED, WITH, Asked, Place, Side
from workshop.load.watch import Say, watch
from workshop.traffic.memory import weigh
from workshop.traffic.process import ProviderProcess, allow_files

SPARE_FILES = 200


async def crowd(side: Side) -> None:
    """Measure many streams at once, while others are held open."""
    asked, figures = side.place.asked, side.place.figures
    at_rest = await side.settled()
    held = idle = None
    if asked.idle:
        idle = side.group(asked.idle, Phase(2, 1), last="idle")
        side.say(f"{asked.idle} streams are opened and held")
        await idle.begin()
        held = await side.settled()
    phases = [Phase(rate, asked.seconds) for rate in asked.rates]
    active = side.group(asked.streams, *phases, first="active")
    side.say(f"{asked.streams} streams begin")
    await active.begin()
    begun = await side.settled()
    others = [side.place.provider.pid, os.getpid()]
    watching = asyncio.create_task(watch(side.proxy.pid, others, phases, side.say))
    await side.open("active")
    result = await active.end()
    shares = await watching
    peak = weigh(side.proxy.pid).peak
    figures.total.include(result)
    phase = await side.open("idle")
    figures.parts += parts(side, active, phases, shares, phase["late"])
    if idle is not None:
        figures.total.include(await idle.end())
    after = await side.settled()
    without = (held or at_rest).rss
    figures.memory.append(
        Memory(
            side.name,
            at_rest.rss,
            (without - at_rest.rss) / max(asked.idle, 1),
            (begun.rss - without) / asked.streams,
            (peak - without) / asked.streams,
            peak,
            after.rss,
        )
    )


def parts(
    side: Side,
    group: Group,
    phases: Sequence[Phase],
    shares: Sequence[tuple[float, float]],
    sent_late: float,
) -> list[Part]:
    """Return the figures of each part of a run."""
    return [
        Part(
            sent_late,
            elsewhere,
            side.name,
            late.count / phase.seconds,
            seconds_at(late, 0.5),
            seconds_at(late, 0.99),
            late.most / 1000,
            cpu,
            cpu * phase.seconds / max(late.count, 1),
        )
        for phase, late, (cpu, elsewhere) in zip(
            phases, group.late, shares, strict=True
        )
    ]


async def measure(asked: Asked, say: Say, scripts: Sequence[Path] = ()) -> Figures:
    """Measure all that was asked for, and return the figures.

    Args:
        asked: That.
        say: Takes a line of progress.
        scripts: More of them for mitmdump to load, after the addon.

    Raises:
        ChildError: The machine does not allow it, or a process ended.
    """
    # Two sockets for each stream in mitmdump, one here and one in the provider.
    allow_files(2 * (asked.streams + asked.idle + asked.slow) + SPARE_FILES)
    figures = Figures(machine.describe())
    with tempfile.TemporaryDirectory(prefix="llm_normalize-load-") as name:
        folder = Path(name)
        with ProviderProcess("workshop.load.provider", folder) as provider:
            numbers = itertools.count()
            place = Place(asked, folder, provider, figures, say, numbers, scripts)
            try:
                for which in (WITH, STORED, ALONE) if asked.floor else (WITH,):
                    async with Side(which, place) as side:
                        await crowd(side)
                for which in (WITH, ALONE) if asked.slow else ():
                    await slow.measure(which, place)
            except (OSError, TimeoutError) as error:
                raise ChildError(f"it broke off: {error!r}", provider.lines) from error
        figures.alarms += provider.alarms
    return figures


def run(asked: Asked) -> Figures:
    """Measure, printing the progress.

    Raises:
        ChildError: It could not be done.
    """
    return asyncio.run(measure(asked, lambda text: print(text, flush=True)))
