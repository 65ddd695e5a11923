"""The card as text: 80 columns, colours on a terminal alone."""

import textwrap
from collections.abc import Iterator

from ..text.console import styled
from ..text.printable import counted
from .card import MOST, Card, Evidence, Group, Row
from .verdict import CONFORMS, LEFT, NONE, REPAIRED

_WIDTH = 80
_COLOURS = {CONFORMS: "32", REPAIRED: "33", LEFT: "31", NONE: "35"}
_BOLD = "1"


def as_text(card: Card) -> Iterator[str]:
    """Yield the lines of *card*."""
    yield styled(card.subject, _BOLD)
    for line in _wrapped(card.headline, ""):
        yield styled(line, _COLOURS[card.verdict])
    yield ""
    yield from _table(card.rows)
    if card.broken:
        yield from _heading("Rules of OpenAI's form that are broken")
        yield from _groups(card.broken)
    if card.fixes:
        yield from _heading("Fixes that repair that")
        for fix in card.fixes:
            yield from _fix(fix)
    yield from _heading("Faults that no fix repairs")
    yield from _groups(card.left) if card.left else ["  nothing"]
    if card.notes:
        yield from _heading("Also")
        for note in card.notes[:MOST]:
            yield from _wrapped(note, "  - ", "    ")
        yield from _more(len(card.notes))


def _heading(text: str) -> Iterator[str]:
    yield ""
    yield styled(text, _BOLD)


def _table(rows: list[Row]) -> Iterator[str]:
    cells = [
        {
            "answer": row.name,
            "status": str(row.status or "-"),
            "first ms": _figure(row.first_ms),
            "all ms": _figure(row.total_ms),
            "events": "" if row.events is None else str(row.events),
            "arrival": row.arrival,
            "encoding": row.encoding[:8],
            "verdict": row.verdict,
        }
        for row in rows
    ]
    names = [name for name in cells[0] if any(each[name] for each in cells)]
    columns = [[name, *(each[name] for each in cells)] for name in names]
    widths = [max(map(len, column)) for column in columns]
    figures = {"status", "first ms", "all ms", "events"}
    for at, line in enumerate(zip(*columns, strict=True)):
        made = [
            cell.rjust(width) if column[0] in figures else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ]
        if at:
            made[-1] = styled(made[-1].rstrip(), _COLOURS[line[-1]])
        yield "  " + "  ".join(made).rstrip()


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _groups(groups: list[Group]) -> Iterator[str]:
    for group in groups[:MOST]:
        place = group.answer
        if group.event is not None:
            place += f", event {group.event}"
        times = f"{group.count} times, first " if group.count > 1 else ""
        text = f"{group.rule}: {group.text} ({times}in {place})"
        yield from _wrapped(text, "  ", "      ")
    yield from _more(len(groups))


def _more(count: int) -> Iterator[str]:
    if count > MOST:
        yield f"  and {count - MOST} more (--json has all)"


def _fix(fix: Evidence) -> Iterator[str]:
    times = counted(fix.count, "event")
    first = f", first in {fix.first}" if fix.first else ""
    head = list(_wrapped(f"{fix.name}: {times}{first}", "  ", "      "))
    yield head[0].replace(fix.name, styled(fix.name, _BOLD), 1)
    yield from head[1:]
    yield from _wrapped(fix.changes, "      ")
    yield from _wrapped(f"breaks: {fix.why}", "      ")
    if fix.shown:
        where = "" if fix.seen == fix.first else f" ({fix.seen})"
        yield from _wrapped(f"as seen{where}:", "      ")
    for change in fix.shown:
        yield from _wrapped(str(change), "        ", "          ")
    if fix.more:
        yield f"        and {fix.more} more in that event"


def _wrapped(text: str, indent: str, further: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_on_hyphens=False,
    ) or [indent.rstrip()]
