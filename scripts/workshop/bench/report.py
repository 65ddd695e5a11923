"""The benchmark's results as Markdown: ratios to the floor, each with its spread.

A ratio is taken within one duel, of what ran side by side, and only then are rounds
summed up: what slows the machine down for a while slows both. In a duel, who is asked
first has the worse of it, or the better, by up to a tenth: so two rounds of it, one in
each order, have one ratio.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workshop.bench.client import Used
from workshop.bench.sides import Line

OVERLOADED = ", overloaded"
"""Behind a figure of a side that fell behind."""


class Duel(NamedTuple):
    """What a proxy took, and the floor beside it."""

    own: Used
    floor: Used


class Ratio(NamedTuple):
    """A side's cost as a multiple of the floor's: the median, its range, and whether both kept up."""

    median: float
    low: float
    high: float
    kept_up: bool

    def __str__(self) -> str:
        median, low, high = (f"{each:.2f}" for each in self[:3])
        text = median if low == high else f"{median} ({low}…{high})"
        return text if self.kept_up else text + OVERLOADED


class Result(NamedTuple):
    """A complete result.

    Attributes:
        machine: What it is, as `workshop.machine.describe` has it.
        pinned: Where what ran, as a sentence.
        rounds: How many there were.
        lines: The lines of the table, by name.
        duels: Those of each line, label of a load, and proxy: one for each round.
    """

    machine: Mapping[str, str]
    pinned: str
    rounds: int
    lines: Mapping[str, Line]
    duels: Mapping[tuple[str, str, str], Sequence[Duel]]


def ratio(duels: Sequence[Duel]) -> Ratio:
    """Return the ratio of the duels of one load, one for each round."""
    turns = itertools.batched((duel.own.us / duel.floor.us for duel in duels), 2)
    found = sorted(statistics.geometric_mean(each) for each in turns)
    kept_up = all(duel.own.kept_up and duel.floor.kept_up for duel in duels)
    return Ratio(statistics.median(found), found[0], found[-1], kept_up)


def markdown(result: Result) -> str:
    """Return a complete result: the machine, the table and its key."""
    machine, rounds = result.machine, result.rounds
    head = (
        f"Measured on {machine['date']} with `python3 scripts/bench.py`: "
        f"{machine['cpu']}, {machine['memory']}, {machine['os']}, "
        f"Python {machine['python']}, mitmproxy {machine['mitmproxy']}; "
        f"{result.pinned}."
    )
    figure = f"The median of {rounds} rounds, each with new proxies (lowest…highest)."
    if rounds == 1:
        figure = "Of one round, so without a spread."
    key = (
        f"{figure} The proxy's CPU time per event, as a multiple of that of a mitmdump "
        "that only streams, beside it on one CPU with the same traffic. `lean.py` is an "
        "addon of a hundred lines that parses every event, and repairs nulls alone. "
        "Events are 10 ms apart; each stream is new, and verified to its last byte. "
        "A round in which a side fell behind is run again, at most twice."
    )
    return "\n\n".join([head, table(result), key]) + "\n"


def table(result: Result) -> str:
    """Return a row for each line."""
    rows = [["streams", "the addon", "goal", "`lean.py`"], ["---"] * 4]
    for name, line in result.lines.items():
        addon, lean = (
            {
                load.label: ratio(duels)
                for load in line.loads()
                if (duels := result.duels.get((name, load.label, proxy)))
            }
            for proxy in (line.addon, line.lean)
        )
        # The loads that a quick run leaves out are the last ones.
        goals = [
            f"≤ {goal:.2f} {'met' if each.median <= goal else 'missed'}"
            for each, goal in zip(addon.values(), line.goals, strict=False)
        ]
        loads = " / ".join(addon).replace(" events /", " /")
        cells = [addon.values(), goals, lean.values()]
        rows.append(
            [f"`{name}`: {line.title}, {loads}"]
            + [" / ".join(map(str, each)) for each in cells]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
