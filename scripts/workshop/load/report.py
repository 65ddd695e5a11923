"""The figures of the load, for people."""

from collections.abc import Iterable, Sequence

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


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def latencies(figures: Figures) -> str:
    """Return how long events took through mitmdump."""
    head = ["", "streams", "held idle", "events sent", "p50", "p90", "p99", "max"]
    return table(
        [*head, "mitmdump", "an event"],
        [
            [
                each.side,
                each.streams,
                each.idle,
                f"{each.per_second:,.0f} a second",
                *map(ms, (each.p50, each.p90, each.p99, each.most)),
                f"{each.cpu:.0%} of a core",
                f"{each.cpu / max(each.per_second, 1) * 1e6:.0f} µs",
            ]
            for each in figures.parts
        ],
    )


def memory(figures: Figures) -> str:
    """Return the memory that mitmdump uses."""
    return table(
        [
            "memory",
            "at rest",
            "an idle stream",
            "a stream at its start",
            "at its end",
            "bytes it sent",
            "peak",
            "afterwards",
        ],
        [
            [
                each.side,
                mib(each.at_rest),
                kib(each.per_idle),
                kib(each.per_begun),
                kib(each.per_ended),
                kib(each.passed),
                mib(each.peak),
                mib(each.after),
            ]
            for each in figures.memory
        ],
    )


def hoards(figures: Figures) -> str:
    """Return what clients that hardly read cost."""
    return table(
        [
            "a client that hardly reads",
            "",
            "read from the provider for it",
            "mitmdump grew by",
            "seconds",
        ],
        [
            [
                each.side,
                each.how,
                f"{mib(each.taken_first)}, then {mib(each.taken)}",
                f"{mib(each.grown_first)}, then {mib(each.grown)}",
                f"{each.seconds:.0f}, then {2 * each.seconds:.0f}",
            ]
            for each in figures.hoards
        ],
    )


def felt(figures: Figures) -> str:
    """Return how other clients are affected by them."""
    return table(
        ["other clients at the same time", "", "others", "slow", "p50", "p99", "max"],
        [
            [
                each.side,
                each.when,
                each.others,
                each.slow,
                *map(ms, (each.p50, each.p99, each.most)),
            ]
            for each in figures.felt
        ],
    )


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
        latencies(figures),
        "",
        memory(figures),
    ]
    if figures.hoards:
        lines += ["", hoards(figures), "", felt(figures)]
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
