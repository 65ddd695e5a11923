"""The figures of the load, as they are measured, and how tables show them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from workshop.load.clients import Result
from workshop.traffic.memory import MIB


def ms(seconds: float) -> str:
    """Return a time in milliseconds, with two significant digits."""
    return f"{float(f'{seconds * 1000:.1e}'):g} ms"


def mib(size: float) -> str:
    """Return a size in MiB."""
    return f"{size / MIB:.1f} MiB"


def kib(size: float) -> str:
    """Return a size in KiB."""
    return f"{size / 1024:.0f} KiB"


def in_steps(form: Callable[[float], str]) -> Callable[[tuple[float, float]], str]:
    """Return what shows the figures of two steps, each in its *form*."""
    return lambda steps: ", then ".join(map(form, steps))


def column(head: str, form: Callable[[Any], str] = str) -> Any:
    """Return a field that tables show under this *head*, in this *form*."""
    return field(metadata={"head": head, "form": form})


@dataclass
class Part:
    """Streams at once for a while, at one rate. Times are in seconds."""

    sent_late: float
    cpu_elsewhere: float
    side: str = column("")
    per_second: float = column("events sent", "{:,.0f} a second".format)
    p50: float = column("p50", ms)
    p99: float = column("p99", ms)
    most: float = column("max", ms)
    cpu: float = column("mitmdump", "{:.0%} of a core".format)
    an_event: float = column("an event", lambda cpu: f"{cpu * 1e6:.0f} µs")


@dataclass
class Memory:
    """What mitmdump weighs, in bytes: by itself, and for each stream."""

    side: str = column("memory")
    at_rest: int = column("at rest", mib)
    per_idle: float = column("an idle stream", kib)
    per_begun: float = column("a stream at its start", kib)
    per_ended: float = column("at its end", kib)
    peak: int = column("peak", mib)
    after: int = column("afterwards", mib)


@dataclass
class Hoard:
    """What a client that hardly reads costs, in bytes, after one and two steps.

    `taken` is what the provider could hand over for it, `grown` what mitmdump weighs
    more.
    """

    side: str = column("a client that hardly reads")
    how: str = column("")
    taken: tuple[float, float] = column("read from the provider for it", in_steps(mib))
    grown: tuple[float, float] = column("mitmdump grew by", in_steps(mib))


@dataclass
class Felt:
    """What others feel of such clients. Times are in seconds."""

    side: str = column("other clients at the same time")
    when: str = column("")
    p50: float = column("p50", ms)
    p99: float = column("p99", ms)


@dataclass
class Figures:
    """All that was measured."""

    machine: dict[str, str]
    parts: list[Part] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    hoards: list[Hoard] = field(default_factory=list)
    felt: list[Felt] = field(default_factory=list)
    total: Result = field(default_factory=Result)
    alarms: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing was wrong."""
        return not (self.total.faults or self.alarms)
