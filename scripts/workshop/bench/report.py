"""The benchmark's results as Markdown, for the console and for the docs."""

from collections.abc import Mapping
from typing import Any

type Figures = Mapping[str, Any]

OVERLOADED = ", overloaded"
"""Behind a figure of a side that fell behind."""


def markdown(result: Mapping[str, Any]) -> str:
    """Return a complete result: the machine, the table and its key."""
    machine, rounds = result["machine"], result["rounds"]
    head = (
        f"Measured on {machine['date']} with `python3 scripts/bench.py`: "
        f"{machine['cpu']}, {machine['memory']}, {machine['os']}, "
        f"Python {machine['python']}, mitmproxy {machine['mitmproxy']}; "
        f"{result['pinned']}."
    )
    figure = f"The median of {rounds} rounds, each with new proxies (lowest…highest)."
    if rounds == 1:
        figure = "Of one round, so without a spread."
    key = (
        f"{figure} The proxy's CPU time per event, as a multiple of that of a mitmdump "
        "that only streams, beside it on one CPU with the same traffic. `lean.py` is an "
        "addon of a hundred lines that parses every event, and repairs nulls alone. "
        "Events are 10 ms apart; each stream is new, and verified to its last byte."
    )
    return "\n\n".join([head, table(result["lines"]), key]) + "\n"


def table(lines: Mapping[str, Figures]) -> str:
    """Return a row for each line."""
    rows = [["streams", "the addon", "goal", "`lean.py`"], ["---"] * 4]
    for name, line in lines.items():
        loads = " / ".join(line["addon"]).replace(" events /", " /")
        addon = line["addon"].values()
        goals = [f"≤ {e['goal']:.2f} {_met(e['met'])}" for e in addon if "goal" in e]
        cells = [
            " / ".join(map(cell, addon)),
            " / ".join(goals),
            " / ".join(map(cell, line["lean"].values())),
        ]
        rows.append([f"`{name}`: {line['title']}, {loads}", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cell(figure: Figures) -> str:
    """Return a ratio with its range, and whether its side fell behind."""
    ratio = figure["ratio"]
    median, low, high = (f"{ratio[each]:.2f}" for each in ("median", "low", "high"))
    text = median if low == high else f"{median} ({low}…{high})"
    return text if figure["kept_up"] else text + OVERLOADED


def _met(met: bool) -> str:
    return "met" if met else "missed"
