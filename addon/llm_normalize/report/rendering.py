"""Text of logs and figures, as people read them."""

import datetime as dt

from . import log_reader as reader

UNTOLD = "-"
"""Stands for a figure that there is none of."""

LONG = 80  # characters of a name

_TENTH, _SECOND, _MINUTE, _HOUR = 10.0, 1000.0, 60_000.0, 3_600_000.0
_KILO = 1000
# Letters, marks and symbols by class, so str.isprintable lets them pass, but nothing is
# to be seen of them: words can be hidden in them.
_HIDDEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_SPELLED = {ord(each): ascii(each)[1:-1] for each in _HIDDEN}


def visible(text: str) -> str:
    r"""Return *text* as one line in which all that is there can be seen.

    Control, format, bidi and other unseen characters, and lone surrogates, are spelled
    as escapes such as `\u202e`.
    """
    return reader.printable(text).translate(_SPELLED)


def cut(text: str, most: int = LONG) -> str:
    """Return *text*, visible, and no longer than *most* characters."""
    shown = visible(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def number(value: int) -> str:
    """Return *value* with its thousands parted."""
    return f"{value:,}"


def counted(value: int, what: str) -> str:
    """Return `1 answer`, `2,000 answers` and the like."""
    return f"{value:,} {what}{'' if value == 1 else 's'}"


def share(part: int, whole: int) -> str:
    """Return *part* of *whole* as a percentage; never 0 or 100 for what is not."""
    if not whole:
        return UNTOLD
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:  # noqa: PLR2004 - per cent
        return "over 99 %"
    return f"{percent:.0f} %"


def duration(ms: float | None) -> str:
    """Return a time with a unit that fits it."""
    if ms is None:
        return UNTOLD
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
    """Return a size of so many bytes."""
    for unit in ("bytes", "kB", "MB"):
        if value < _KILO:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= _KILO
    return f"{value:.1f} GB"


def moment(seconds: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a time in UTC."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime(form)
