"""The figures of the load, as they are measured."""

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from workshop.load.clients import Result


@dataclass
class Part:
    """Streams at once for a while, at one rate. Times are in seconds."""

    side: str
    streams: int
    idle: int
    rate: float
    events: int
    per_second: float
    p50: float
    p90: float
    p99: float
    most: float
    sent_late: float
    cpu: float
    cpu_elsewhere: float


@dataclass
class Memory:
    """What mitmdump weighs, in bytes: by itself, and for each stream."""

    side: str
    at_rest: int
    per_idle: float
    per_begun: float
    per_ended: float
    passed: float
    peak: int
    after: int


@dataclass
class Hoard:
    """What a client that hardly reads costs, in bytes, after one and two steps.

    `taken` is what the provider could hand over for it, `grown` what mitmdump weighs
    more.
    """

    side: str
    how: str
    clients: int
    seconds: float
    taken_first: float
    grown_first: float
    taken: float
    grown: float


@dataclass
class Felt:
    """What others feel of such clients. Times are in seconds."""

    side: str
    when: str
    others: int
    slow: int
    seconds: float
    p50: float
    p99: float
    most: float


@dataclass
class Figures:
    """All that was measured."""

    machine: dict[str, Any]
    asked: dict[str, Any]
    parts: list[Part] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    hoards: list[Hoard] = field(default_factory=list)
    felt: list[Felt] = field(default_factory=list)
    streams: int = 0
    events: int = 0
    bytes: int = 0
    faults: dict[int, list[str]] = field(default_factory=dict)
    alarms: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing was wrong."""
        return not (self.faults or self.alarms)

    def add(self, result: Result) -> None:
        """Count the results of some streams."""
        self.streams += result.streams
        self.events += result.events
        self.bytes += result.bytes
        self.faults |= result.faults


def machine() -> dict[str, Any]:
    """Return where this runs."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "mitmproxy": version("mitmproxy"),
    }
