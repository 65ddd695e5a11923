"""One side of the load's comparison: a mitmdump with the addon, or without."""

import asyncio
import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from workshop import LOOPBACK, NORMALIZE, SCRIPTS
from workshop.load.clients import Group
from workshop.load.figures import Figures
from workshop.load.paced import Phase
from workshop.load.watch import Say
from workshop.traffic.memory import Weight, weigh
from workshop.traffic.process import Mitmdump, ProviderProcess, ask

WITH, ALONE = "with the addon", "mitmproxy alone"
STORED = "with the addon, and `-w`"
"""Whoever stores flows has the addon store what mitmweb could show of them."""
FLOOR = SCRIPTS / "workshop" / "bench" / "floor.py"
"""mitmproxy alone, as it streams best."""
WARM_UP = 20
"""Streams before anything is measured: modules load, caches fill."""
SETTLING = 1.0
"""Seconds before memory is read."""


class Asked(NamedTuple):
    """What is to be measured.

    Attributes:
        streams: Streams at once.
        rates: Events a second of each; one part of the run for each of them.
        seconds: How long each part takes.
        idle: Streams that are held open besides.
        slow: Clients that hardly read.
        floor: Whether mitmproxy alone is measured as well.
    """

    streams: int
    rates: Sequence[float]
    seconds: float
    idle: int
    slow: int
    floor: bool


class Place(NamedTuple):
    """What all sides share.

    Attributes:
        asked: What is to be measured.
        folder: For files.
        provider: Who answers.
        figures: Where it is written down.
        say: Takes a line of progress.
        numbers: The numbers of streams, each given once.
        scripts: More of them for mitmdump to load.
    """

    asked: Asked
    folder: Path
    provider: ProviderProcess
    figures: Figures
    say: Say
    numbers: "itertools.count[int]"
    scripts: Sequence[Path] = ()


class Side:
    """One mitmdump, as long as it is entered.

    Args:
        name: `WITH`, `STORED` or `ALONE`.
        place: What it shares with others.

    Attributes:
        repaired: Whether answers come repaired.
    """

    def __init__(self, name: str, place: Place) -> None:
        self.name = name
        self.place = place
        self.repaired = name != ALONE
        # Numbers of streams are given once, so this names a folder, and gates.
        self._number = next(place.numbers)
        folder = place.folder / f"mitmdump-{self._number}"
        mode = f"reverse:http://{LOOPBACK}:{place.provider.ports['port']}"
        stores = {"save_stream_file": os.devnull} if name == STORED else {}
        scripts = [NORMALIZE if self.repaired else FLOOR, *place.scripts]
        self.proxy = Mitmdump(folder, [mode], scripts, stores)

    async def __aenter__(self) -> Self:
        self.proxy.__enter__()
        group = self.group(WARM_UP, Phase(40, 0.5))
        await group.begin()
        self.place.figures.total.include(await group.end())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.proxy.stop()
        self.place.figures.alarms += self.proxy.alarms

    def say(self, text: str) -> None:
        """Tell how far it is."""
        self.place.say(f"{self.name}: {text}")

    def seeds(self, count: int) -> list[int]:
        """Return so many numbers that no stream has had."""
        return list(itertools.islice(self.place.numbers, count))

    def group(
        self, count: int, *phases: Phase, first: str = "", last: str = ""
    ) -> Group:
        """Return *count* streams, with gates before their text and their end."""
        return Group(
            self.proxy.places[0],
            self.seeds(count),
            phases,
            repaired=self.repaired,
            first=first and self.gate(first),
            last=last and self.gate(last),
        )

    def gate(self, name: str) -> str:
        """Return a gate of this side alone."""
        return f"{name} of {self._number}"

    async def open(self, name: str) -> dict[str, Any]:
        """Open a gate, and return what the provider reports."""
        place = (LOOPBACK, self.place.provider.ports["port"])
        return dict(json.loads(await ask(place, "/control", [self.gate(name)])))

    async def settled(self) -> Weight:
        """Return what mitmdump weighs once it has come to rest."""
        await asyncio.sleep(SETTLING)
        self.proxy.check()
        return weigh(self.proxy.pid)
