"""The figures of the load, for people."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from workshop.load.figures import Figures, ms


def table(rows: Sequence[Any]) -> str:
    """Return a table in Markdown of *rows*, which are of one kind."""
    columns = [each for each in fields(rows[0]) if each.metadata]
    cells = [
        [each.metadata["form"](getattr(row, each.name)) for each in columns]
        for row in rows
    ]
    heads = [each.metadata["head"] for each in columns]
    lines = [heads, ["---"] * len(columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown(figures: Figures) -> str:
    """Return all figures."""
    place, total = figures.machine, figures.total
    late = max((each.sent_late for each in figures.parts), default=0)
    elsewhere = max((each.cpu_elsewhere for each in figures.parts), default=0)
    head = (
        f"{total.streams:,} streams, {total.events:,} events, "
        f"{total.bytes / 1e6:,.0f} MB; every byte checked: "
        f"{len(total.faults)} streams corrupted."
    )
    rows: tuple[Sequence[Any], ...] = (
        figures.parts,
        figures.memory,
        figures.hoards,
        figures.felt,
    )
    tail = (
        f"{place['cpu']}, {place['os']}, Python {place['python']}, "
        f"mitmproxy {place['mitmproxy']}. Times from the provider's write to the "
        f"client's read; the provider itself was at most {ms(late)} late (p99). "
        f"Other programs took {elsewhere:.1f} cores meanwhile."
    )
    return "\n\n".join([head, *map(table, filter(None, rows)), tail])


def faults(figures: Figures) -> str:
    """Return what was wrong, a line each."""
    lines = [
        f"stream {seed}: {text}"
        for seed, texts in sorted(figures.total.faults.items())[:20]
        for text in texts
    ]
    lines += [f"log: {line}" for line in figures.alarms]
    return "\n".join(lines)
