"""The figures of the load, as they are measured, and how tables show them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

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


class Column(NamedTuple):
    """How tables show a field: under this *head*, in this *form*."""

    head: str
    form: Callable[[Any], str] = str


@dataclass
class Part:
    """Streams at once for a while, at one rate. Times are in seconds."""

    side: Annotated[str, Column("")]
    per_second: Annotated[float, Column("events sent", "{:,.0f} a second".format)]
    p50: Annotated[float, Column("p50", ms)]
    p99: Annotated[float, Column("p99", ms)]
    most: Annotated[float, Column("max", ms)]
    cpu: Annotated[float, Column("mitmdump", "{:.0%} of a core".format)]
    an_event: Annotated[float, Column("an event", lambda cpu: f"{cpu * 1e6:.0f} µs")]
    sent_late: float
    cpu_elsewhere: float


@dataclass
class Memory:
    """What mitmdump weighs, in bytes: by itself, and for each stream."""

    side: Annotated[str, Column("memory")]
    at_rest: Annotated[int, Column("at rest", mib)]
    per_idle: Annotated[float, Column("an idle stream", kib)]
    per_begun: Annotated[float, Column("a stream at its start", kib)]
    per_ended: Annotated[float, Column("at its end", kib)]
    peak: Annotated[int, Column("peak", mib)]
    after: Annotated[int, Column("afterwards", mib)]


@dataclass
class Hoard:
    """What a client that hardly reads costs, in bytes, after one and two steps.

    `taken` is what the provider could hand over for it, `grown` what mitmdump weighs
    more.
    """

    side: Annotated[str, Column("a client that hardly reads")]
    how: Annotated[str, Column("")]
    taken: Annotated[
        tuple[float, float], Column("read from the provider for it", in_steps(mib))
    ]
    grown: Annotated[tuple[float, float], Column("mitmdump grew by", in_steps(mib))]


@dataclass
class Felt:
    """What others feel of such clients. Times are in seconds."""

    side: Annotated[str, Column("other clients at the same time")]
    when: Annotated[str, Column("")]
    p50: Annotated[float, Column("p50", ms)]
    p99: Annotated[float, Column("p99", ms)]


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
