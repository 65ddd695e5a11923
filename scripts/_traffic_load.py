"""The load, measured: streams at once, streams held open, clients that hardly read."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from _traffic_load_clients import Group, Result, Slow, Unread
from _traffic_load_figures import Figures, Memory, Part, Window, machine
from _traffic_memory import Weight, weigh
from _traffic_paced import Phase, Spoken
from _traffic_process import (
    ADDON,
    HOST,
    STREAMING,
    Mitmdump,
    Provider,
    TrafficError,
    allow_files,
    ask,
)
from _traffic_watch import Say, Watch

SPARE_FILES = 200
WARM_UP = 20
"""Streams before anything is measured: modules load, caches fill."""
SETTLING = 1.0
"""Seconds before memory is read."""
OTHERS = 100
"""Streams at most that run beside the slow clients."""
FLOOD = Phase(200_000, 1)
"""What a slow client is offered: some 60 MB."""
UNREAD = 2
"""Clients that read nothing over HTTP/2: what they cost is memory."""
WINDOWS = ("without", "while buffers fill", "with")


class Asked(NamedTuple):
    """What is to be measured.

    Attributes:
        streams: Streams at once.
        rates: Events a second of each; one part of the run for each of them.
        seconds: How long each part takes.
        idle: Streams that are held open besides.
        slow: Clients that hardly read.
        floor: Whether mitmproxy alone is measured as well.
        script: One more script for mitmdump to load; None for none.
    """

    streams: int
    rates: Sequence[float]
    seconds: float
    idle: int
    slow: int
    floor: bool
    script: Path | None = None


class Load:
    """Measures one way of streaming after the other.

    Args:
        asked: What.
        folder: For files.
        provider: Who answers.
        figures: Where to write it down.
        say: Takes a line of progress.
    """

    def __init__(
        self,
        asked: Asked,
        folder: Path,
        provider: Provider,
        figures: Figures,
        say: Say,
    ) -> None:
        self._asked = asked
        self._folder = folder
        self._provider = provider
        self._figures = figures
        self._say = say
        self._seed = 0
        self._runs = 0

    async def run(self) -> None:
        """Measure all that was asked for."""
        sides = ["with the addon", *(["mitmproxy alone"] if self._asked.floor else [])]
        for side in sides:
            async with self._proxy(side) as proxy:
                await self._measure(side, proxy)
            self._figures.alarms += proxy.alarms
        if self._asked.slow:
            for side in ("with the addon", "mitmproxy alone"):
                async with self._proxy(side) as proxy:
                    await self._back_up(side, proxy)
                    await self._hoard(side, proxy)
                self._figures.alarms += proxy.alarms
        self._figures.alarms += self._provider.alarms

    def _proxy(self, side: str) -> Mitmdump:
        self._runs += 1
        script = ADDON / "normalize.py"
        if side == "mitmproxy alone":
            script = self._folder / "streaming.py"
            script.write_text(STREAMING)
        scripts = [
            script,
            *([self._asked.script.resolve()] if self._asked.script else []),
        ]
        mode = f"reverse:http://127.0.0.1:{self._provider.said['port']}"
        return Mitmdump(self._folder / f"mitmdump-{self._runs}", [mode], scripts)

    def _seeds(self, count: int) -> range:
        self._seed += count
        return range(self._seed - count + 1, self._seed + 1)

    def _group(
        self, proxy: Mitmdump, side: str, count: int, *phases: Phase, **gates: str
    ) -> Group:
        repaired = side == "with the addon"
        return Group(
            proxy.places[0], self._seeds(count), phases, repaired=repaired, **gates
        )

    async def _open(self, gate: str) -> dict[str, Any]:
        """Open a gate of the provider, and return how late it was so far."""
        answer = await ask((HOST, self._provider.said["port"]), "/control", [gate])
        return dict(json.loads(answer))

    async def _warm(self, proxy: Mitmdump, side: str) -> None:
        # A line for each connection is not what is measured.
        await proxy.control(set={"termlog_verbosity": "warn"})
        group = self._group(proxy, side, WARM_UP, Phase(20, 1))
        await group.begin()
        self._figures.add(await group.end())

    async def _settled(self, proxy: Mitmdump) -> Weight:
        await asyncio.sleep(SETTLING)
        proxy.check()
        return weigh(proxy.pid)

    # -- streams at once, and held open ----------------------------------------------

    async def _measure(self, side: str, proxy: Mitmdump) -> None:
        asked = self._asked
        await self._warm(proxy, side)
        at_rest = await self._settled(proxy)
        idle = None
        if asked.idle:
            gate = f"idle {self._runs}"
            idle = self._group(proxy, side, asked.idle, Phase(2, 1), last=gate)
            self._say(f"{side}: {asked.idle} streams are opened and held")
            await idle.begin()
        held = await self._settled(proxy)
        phases = [Phase(rate, asked.seconds) for rate in asked.rates]
        start = f"start {self._runs}"
        active = self._group(proxy, side, asked.streams, *phases, first=start)
        self._say(f"{side}: {asked.streams} streams begin")
        await active.begin()
        begun = await self._settled(proxy)
        ours = [proxy.pid, self._provider.pid, os.getpid()]
        async with Watch(proxy.pid, ours, phases, self._say) as watch:
            await self._open(start)
            result = await active.end()
        ended = weigh(proxy.pid)
        self._figures.add(result)
        told = await self._open(f"idle {self._runs}")
        sent_late = told["late"]["p99"]
        self._figures.parts += self._parts(side, active, phases, watch, sent_late)
        if idle is not None:
            self._figures.add(await idle.end())
        after = await self._settled(proxy)
        self._figures.memory.append(
            Memory(
                side,
                at_rest.rss,
                (held.rss - at_rest.rss) / max(asked.idle, 1),
                (begun.rss - held.rss) / asked.streams,
                (max(watch.peak, ended.rss) - held.rss) / asked.streams,
                result.bytes / asked.streams,
                max(watch.peak, ended.rss),
                after.rss,
            )
        )

    def _parts(
        self,
        side: str,
        group: Group,
        phases: Sequence[Phase],
        watch: "Watch",
        sent_late: float,
    ) -> list[Part]:
        return [
            Part(
                side,
                self._asked.streams,
                self._asked.idle,
                phase.rate,
                late.count,
                late.count / phase.seconds,
                late.at(0.5),
                late.at(0.9),
                late.at(0.99),
                late.most,
                sent_late,
                *watch.shares[at],
            )
            for at, (phase, late) in enumerate(zip(phases, group.late, strict=True))
        ]

    # -- clients that hardly read ----------------------------------------------------

    async def _back_up(self, side: str, proxy: Mitmdump) -> None:
        asked = self._asked
        count = min(asked.streams, OTHERS)
        seconds = min(max(asked.seconds / 6, 1), 15)
        phases = [Phase(asked.rates[0], seconds)] * len(WINDOWS)
        await self._warm(proxy, side)
        gate = f"others {self._runs}"
        others = self._group(proxy, side, count, *phases, first=gate)
        await others.begin()
        self._say(f"{side}: {count} streams, then {asked.slow} slow clients besides")
        await self._open(gate)
        await asyncio.sleep(seconds)
        before = weigh(proxy.pid)
        repaired = side == "with the addon"
        slow = [
            Slow(Spoken(seed, [FLOOD], flood=True), repaired=repaired)
            for seed in self._seeds(asked.slow)
        ]
        tasks = [asyncio.create_task(each.run(proxy.places[0])) for each in slow]
        felt = [(0.0, 0.0)]
        for _ in WINDOWS[1:]:
            await asyncio.sleep(seconds)
            grown = (weigh(proxy.pid).rss - before.rss) / asked.slow
            felt.append((await self._taken(slow), grown))
        result = await others.end()
        await self._leave(slow, tasks, result)
        self._figures.add(result)
        self._figures.backed += [
            Window(
                side,
                when,
                count,
                asked.slow if at else 0,
                seconds,
                others.late[at].at(0.5),
                others.late[at].at(0.99),
                *felt[at],
            )
            for at, when in enumerate(WINDOWS)
        ]

    async def _hoard(self, side: str, proxy: Mitmdump) -> None:
        """See what HTTP/2 clients cost that read nothing."""
        trusted = proxy.confdir / "mitmproxy-ca-cert.pem"
        repaired = side == "with the addon"
        before = weigh(proxy.pid)
        unread = [
            Unread(Spoken(seed, [FLOOD], flood=True), trusted, repaired=repaired)
            for seed in self._seeds(UNREAD)
        ]
        self._say(f"{side}: {UNREAD} clients over HTTP/2 that read nothing")
        tasks = [asyncio.create_task(each.run(proxy.places[0])) for each in unread]
        seconds = min(max(self._asked.seconds / 6, 1), 15)
        await asyncio.sleep(seconds)
        grown = (weigh(proxy.pid).rss - before.rss) / UNREAD
        taken = await self._taken(unread)
        result = Result()
        await self._leave(unread, tasks, result)
        self._figures.add(result)
        when = "over HTTP/2, nothing read"
        window = Window(side, when, 0, UNREAD, seconds, 0.0, 0.0, taken, grown)
        self._figures.backed.append(window)

    async def _leave(
        self,
        clients: Sequence[Slow | Unread],
        tasks: Sequence[asyncio.Task[None]],
        result: Result,
    ) -> None:
        for each, task in zip(clients, tasks, strict=True):
            if task.done():
                each.check.faults.append(f"it ended by itself: {task!r}")
            task.cancel()
            result.add(each)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _taken(self, slow: Sequence[Slow | Unread]) -> float:
        """Return the bytes that the provider could hand over for a slow client."""
        told = (await self._open("-"))["floods"]
        total: int = sum(told.get(str(each.spoken.seed), 0) for each in slow)
        return total / len(slow)


async def measure(asked: Asked, say: Say) -> Figures:
    """Measure, and return the figures.

    Raises:
        TrafficError: The machine does not allow it, or a process ended.
    """
    # Two sockets for each stream in mitmdump, one here and one in the provider.
    allow_files(2 * (asked.streams + asked.idle + asked.slow) + SPARE_FILES)
    figures = Figures(machine(), {**asked._asdict(), "script": str(asked.script)})
    with tempfile.TemporaryDirectory(prefix="llm_normalize-load-") as name:
        folder = Path(name)
        async with Provider("_traffic_load_provider.py", folder) as provider:
            try:
                await Load(asked, folder, provider, figures, say).run()
            except (OSError, TimeoutError) as error:
                lines = list(provider.last)
                raise TrafficError(
                    f"the measurement broke off: {error!r}", lines
                ) from error
    return figures


def run(asked: Asked) -> Figures | None:
    """Measure, telling how far it is; None if it could not be done, which is said."""
    try:
        return asyncio.run(measure(asked, lambda text: print(text, flush=True)))
    except TrafficError as error:
        for line in error.lines:
            print("    " + line, file=sys.stderr)
        print(f"llm_normalize: {error}", file=sys.stderr)
        return None
