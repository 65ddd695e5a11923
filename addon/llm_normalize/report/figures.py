"""Names and figures, as people read them."""

import datetime as dt
from collections.abc import Iterator, Sequence

from ..text.printable import escaped, visible

NONE = "-"
"""Stands for a figure that there is none of."""

LONG = 80  # characters of a name

_TENTH, _SECOND, _MINUTE, _HOUR = 10.0, 1000.0, 60_000.0, 3_600_000.0
_KILO = 1000


def cut(text: str, most: int = LONG) -> str:
    """*text*, visible, and no longer than *most* characters."""
    shown = visible(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def number(value: int) -> str:
    """*value* with its thousands parted."""
    return f"{value:,}"


def share(part: int, total: int) -> str:
    """*part* of *whole* as a percentage; never 0 or 100 for what is not."""
    if not total:
        return NONE
    percent = 100 * part / total
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:  # noqa: PLR2004 - per cent
        return "over 99 %"
    return f"{percent:.0f} %"


def duration(ms: float | None) -> str:
    """A time with a unit that fits it."""
    if ms is None:
        return NONE
    for least, unit, name, places in (
        (_HOUR, _HOUR, "h", 1),
        (2 * _MINUTE, _MINUTE, "min", 1),
        (_TENTH * _SECOND, _SECOND, "s", 1),
        (_SECOND, _SECOND, "s", 2),
        (_TENTH, 1.0, "ms", 0),
    ):
        if ms >= least:
            return f"{ms / unit:,.{places}f} {name}"
    return f"{ms:.1f} ms"


def size(value: float) -> str:
    """A size of so many bytes."""
    for unit in ("bytes", "kB", "MB"):
        if value < _KILO:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= _KILO
    return f"{value:.1f} GB"


def moment(seconds: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time in UTC."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime(form)


def aligned(table: Sequence[Sequence[str]], first: int) -> Iterator[str]:
    """Yield the rows of *table* as lines, its columns from *first* on to the right."""
    rows = [[escaped(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if at >= first else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
