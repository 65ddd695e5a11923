"""The benchmark's results as Markdown, for the console and for the docs."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workshop.bench.jobs import LATENCY_STREAMS, PACED, SATURATION

type Spread = Mapping[str, float] | None
type Figures = Mapping[str, Any]

NONE = ""
OVERLOADED = ", overloaded"
"""Behind a figure of a side that fell behind."""


def markdown(result: Mapping[str, Any]) -> str:
    """Return a complete result: the machine, the table and its key."""
    blocks = [_machine(result)]
    if result["sides"]:
        blocks += [main_table(result["sides"]), _key(result)]
    if result.get("micro"):
        blocks += [micro_table(result["micro"]), MICRO_KEY]
    blocks += [f"- {note}" for note in result["notes"]]
    return "\n\n".join(blocks) + "\n"


def document(result: Mapping[str, Any]) -> str:
    """Return what the document says of a result: CPU per event, of whole streams."""
    sides = {
        name: {"title": side["title"], "paced": side["paced"]}
        for name, side in result["sides"].items()
        if side.get("paced")
    }
    key = (
        f"The median of {result['rounds']} rounds, each with new proxies "
        "(lowest…highest). CPU per event is the proxy's, as a multiple of the floor's: "
        "a mitmdump that only streams, beside it on one CPU with the same traffic. "
        "Whole streams of so many events, from the connection to its end, are paced "
        "with 10 ms between events. Every stream is verified to its last byte."
    )
    return compact("\n\n".join([_machine(result), main_table(sides), key]))


def _machine(result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    pinned = f"; {result['pinned']}" if result["sides"] else ""
    return (
        f"Measured on {machine['date']} with `python3 scripts/bench.py`: "
        f"{machine['cpu']}, {machine['memory']}, {machine['os']}, "
        f"Python {machine['python']}, mitmproxy {machine['mitmproxy']}{pinned}."
    )


def _key(result: Mapping[str, Any]) -> str:
    rounds = result["rounds"]
    figure = f"is the median of {rounds} rounds, each with new proxies (lowest…highest)"
    if rounds == 1:
        figure = "is of one round, and has no spread"
    return (
        f"Each figure {figure}. CPU per event is the "
        "proxy's, as a multiple of the floor's: both run at once on one CPU with the "
        "same traffic. Whole streams of so many events, from the connection to its end, "
        "are paced with 10 ms between events; a long stream comes in a burst. "
        "Who is asked first takes turns, and each two rounds have one ratio, their "
        "geometric mean. "
        "In a burst the client reads once a millisecond, so that no proxy is charged for "
        "waking it. "
        "Added latency is how much longer an event takes than straight from the "
        "provider, in µs: the median / the 99th percentile, with 10 ms between the "
        "events of a stream. For the first event it is the time since the request, with "
        f"{LATENCY_STREAMS[1]} streams. Growth is that of one long stream "
        "after its first fifth. A side is overloaded if it forwards events more slowly "
        "than they arrive. Every stream is verified to its last byte."
    )


# The table

type Cell = Callable[[Figures], str]


def columns() -> list[tuple[str, Cell]]:
    """Return the header of each column and the function that fills it."""
    found: list[tuple[str, Cell]] = [
        (f"CPU per event, {events} events", _paced(str(events))) for events in PACED
    ]
    found.append(("CPU per event, a long burst", lambda side: _duel(side.get("burst"))))
    for streams in SATURATION:
        head = f"events/s, {_streams(streams)}"
        found.append((head, _saturation(str(streams), "events_per_s")))
    # Of one stream: connections take their share of CPU time, too.
    found.append(("CPU s per 100,000 events", _saturation("1", "cpu_s_per_100k")))
    for streams in LATENCY_STREAMS:
        head = f"added latency, {_streams(streams)}"
        found.append((head, _latency(str(streams))))
    found.append(("first event, ms", _first))
    found.append(("memory: peak, growth, MB", lambda side: _memory(side.get("memory"))))
    return found


def main_table(sides: Mapping[str, Figures]) -> str:
    """Return a row for each side."""
    cells = [
        (head, {name: cell(side) for name, side in sides.items()})
        for head, cell in columns()
    ]
    # A part that was not run has no column.
    filled = [(head, column) for head, column in cells if any(column.values())]
    lines = [["side", *(head for head, _ in filled)]]
    for name, side in sides.items():
        lines.append(
            [f"`{name}`: {side['title']}", *(column[name] for _, column in filled)]
        )
    return table(lines)


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        )
        + " |"
        for line in (lines[0], rule, *lines[1:])
    )


def _streams(count: int) -> str:
    return f"{count} stream{'s' if count > 1 else ''}"


def _duel(duel: Figures | None) -> str:
    if duel is None:
        return NONE
    text = spread(duel["ratio"], "{:.2f}".format)
    if "goal" in duel:
        text += f", goal ≤ {duel['goal']:.2f} {_met(duel['met'])}"
    if not duel.get("kept_up", True):
        text += OVERLOADED
    return text


def _paced(events: str) -> Cell:
    return lambda side: _duel(side.get("paced", {}).get(events))


def _met(met: bool) -> str:
    return "met" if met else "missed"


def _saturation(streams: str, name: str) -> Cell:
    def cell(side: Figures) -> str:
        found = side.get("saturation", {}).get(streams)
        return spread(found[name]) if found else NONE

    return cell


def _latency(streams: str) -> Cell:
    def cell(side: Figures) -> str:
        found = side.get("latency", {}).get(streams)
        if not found:
            return NONE
        if side["straight"]:
            own = f"{spread(found['p50_us'])} / {spread(found['p99_us'])}"
            return f"0 of {own}"
        text = f"{spread(found['added_p50_us'])} / {spread(found['added_p99_us'])}"
        if not found["kept_up"]:
            text += OVERLOADED
        elif "like_floor" in found:
            text += ", p50 as the floor's" if found["like_floor"] else ", p50 above"
        return text

    return cell


def _first(side: Figures) -> str:
    # While some other streams run, as in real use.
    found = side.get("latency", {}).get(str(LATENCY_STREAMS[1]))
    return spread(found["first_ms"]) if found else NONE


def _memory(memory: Figures | None) -> str:
    if memory is None:
        return NONE
    text = (
        f"{spread(memory['peak_mb'])}, {spread(memory['growth_mb'], '{:+.1f}'.format)}"
    )
    if "goal" in memory:
        text += f", goal ≤ {memory['goal']:.0f} {_met(memory['met'])}"
    return text


def spread(found: Spread, spell: Callable[[float], str] | None = None) -> str:
    """Return the median of *found* with its range; empty if it is missing."""
    if found is None:
        return NONE
    spell = spell or number
    median, low, high = (spell(found[name]) for name in ("median", "low", "high"))
    return median if low == high else f"{median} ({low}…{high})"


def number(value: float) -> str:
    """Return *value* with three significant digits."""
    size = abs(value)
    if size >= 1000:  # noqa: PLR2004 - four digits and more
        return f"{float(f'{value:.3g}'):,.0f}"
    if size >= 100:  # noqa: PLR2004
        return f"{value:.0f}"
    if size >= 10:  # noqa: PLR2004
        return f"{value:.1f}"
    return f"{value:.2f}"


# Stages and fixes

MICRO_KEY = (
    "Microseconds of CPU per event, in one process, without sockets: the median of the "
    "rounds (lowest…highest). A framing fix runs only on events that are not framed as "
    "OpenAI frames them."
)


def micro_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a row for each stage and each fix, in order."""
    lines = [["", "stage or fix", "stream that needs nothing", "NIM's stream"]]
    for row in rows:
        name = f"`{row['name']}`" if "fix" in row["group"] else row["name"]
        lines.append(
            [row["group"], name, spread(row["good_us"]), spread(row["nim_us"])]
        )
    return table(lines)


# The docs


def compact(text: str) -> str:
    """Return *text* without the blanks that align cells: a file does not need them."""
    return re.sub(r" +\|", " |", re.sub(r"-{4,}", "---", text))
