"""The figures of the load, for people."""

from collections.abc import Callable, Iterable
from typing import Any

from workshop.load.figures import Figures
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


type Columns = dict[str, Callable[[Any], object]]
"""What stands in each column, by its head."""

LATENCIES: Columns = {
    "": lambda each: each.side,
    "streams": lambda each: each.streams,
    "held idle": lambda each: each.idle,
    "events sent": lambda each: f"{each.per_second:,.0f} a second",
    "p50": lambda each: ms(each.p50),
    "p90": lambda each: ms(each.p90),
    "p99": lambda each: ms(each.p99),
    "max": lambda each: ms(each.most),
    "mitmdump": lambda each: f"{each.cpu:.0%} of a core",
    "an event": lambda each: f"{each.cpu / max(each.per_second, 1) * 1e6:.0f} µs",
}
"""How long events took through mitmdump."""
MEMORY: Columns = {
    "memory": lambda each: each.side,
    "at rest": lambda each: mib(each.at_rest),
    "an idle stream": lambda each: kib(each.per_idle),
    "a stream at its start": lambda each: kib(each.per_begun),
    "at its end": lambda each: kib(each.per_ended),
    "bytes it sent": lambda each: kib(each.passed),
    "peak": lambda each: mib(each.peak),
    "afterwards": lambda each: mib(each.after),
}
"""The memory that mitmdump uses."""
HOARDS: Columns = {
    "a client that hardly reads": lambda each: each.side,
    "": lambda each: each.how,
    "read from the provider for it": lambda each: (
        f"{mib(each.taken_first)}, then {mib(each.taken)}"
    ),
    "mitmdump grew by": lambda each: f"{mib(each.grown_first)}, then {mib(each.grown)}",
    "seconds": lambda each: f"{each.seconds:.0f}, then {2 * each.seconds:.0f}",
}
"""What clients that hardly read cost."""
FELT: Columns = {
    "other clients at the same time": lambda each: each.side,
    "": lambda each: each.when,
    "others": lambda each: each.others,
    "slow": lambda each: each.slow,
    "p50": lambda each: ms(each.p50),
    "p99": lambda each: ms(each.p99),
    "max": lambda each: ms(each.most),
}
"""How other clients are affected by them."""


def table(columns: Columns, rows: Iterable[object]) -> str:
    """Return a table in Markdown."""
    cells = ([str(cell(row)) for cell in columns.values()] for row in rows)
    lines = [[*columns], ["---"] * len(columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown(figures: Figures) -> str:
    """Return all figures."""
    place = figures.machine
    late = max((each.sent_late for each in figures.parts), default=0)
    elsewhere = max((each.cpu_elsewhere for each in figures.parts), default=0)
    lines = [
        (
            f"{figures.streams:,} streams, {figures.events:,} events, "
            f"{figures.bytes / 1e6:,.0f} MB; every byte checked: "
            f"{len(figures.faults)} streams corrupted."
        ),
        "",
        table(LATENCIES, figures.parts),
        "",
        table(MEMORY, figures.memory),
    ]
    if figures.hoards:
        lines += ["", table(HOARDS, figures.hoards), "", table(FELT, figures.felt)]
    lines += [
        "",
        (
            f"{place['cores']} cores, {place['system']}, Python {place['python']}, "
            f"mitmproxy {place['mitmproxy']}. Times from the provider's write to the "
            f"client's read; the provider itself was at most {ms(late)} late (p99). "
            f"Other programs took {elsewhere:.1f} cores meanwhile."
        ),
    ]
    return "\n".join(lines)


def faults(figures: Figures) -> str:
    """Return what was wrong, a line each."""
    lines = [
        f"stream {seed}: {text}"
        for seed, texts in sorted(figures.faults.items())[:20]
        for text in texts
    ]
    lines += [f"log: {line}" for line in figures.alarms]
    return "\n".join(lines)
