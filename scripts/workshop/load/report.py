"""The figures of the load, for people."""

from collections.abc import Sequence
from typing import Annotated, get_origin, get_type_hints

from workshop.load.figures import Column, Figures, ms


def table(rows: Sequence[object]) -> str:
    """Return a table in Markdown of *rows*, which are of one kind."""
    kinds = get_type_hints(type(rows[0]), include_extras=True)
    columns: dict[str, Column] = {
        name: kind.__metadata__[0]
        for name, kind in kinds.items()
        if get_origin(kind) is Annotated
    }
    cells = [
        [each.form(getattr(row, name)) for name, each in columns.items()]
        for row in rows
    ]
    heads = [each.head for each in columns.values()]
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
    rows: tuple[Sequence[object], ...] = (
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
