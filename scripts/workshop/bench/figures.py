"""Figures of the benchmark: ratios to the floor, each with its spread over the rounds.

A ratio is taken within one duel, of what ran side by side, and only then are rounds
summed up: what slows the machine down for a while slows both. In a duel, who is asked
first has the worse of it, or the better, by up to a tenth: so two rounds of it, one in
each order, have one ratio.
"""

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workshop.bench.client import Used
from workshop.bench.sides import Line

type Figures = dict[str, Any]


class Duel(NamedTuple):
    """What a proxy took, and the floor beside it."""

    own: Used
    floor: Used


def spread(values: Iterable[float]) -> dict[str, float]:
    """Return the median of *values* with its range."""
    found = sorted(values)
    return {"median": statistics.median(found), "low": found[0], "high": found[-1]}


def figure(duels: Sequence[Duel]) -> Figures:
    """Return the figures of the duels of one load, one for each round."""
    turns = itertools.batched((duel.own.us / duel.floor.us for duel in duels), 2)
    return {
        "ratio": spread(statistics.geometric_mean(each) for each in turns),
        "kept_up": all(duel.own.kept_up and duel.floor.kept_up for duel in duels),
    }


def figures(
    lines: Mapping[str, Line], duels: Mapping[tuple[str, str, str], Sequence[Duel]]
) -> dict[str, Figures]:
    """Return the figures of each line, for JSON.

    Args:
        lines: The lines, by name.
        duels: Those of each line, label of a load, and proxy: one for each round.
    """
    found: dict[str, Figures] = {}
    for name, line in lines.items():
        own: Figures = {"title": line.title, "addon": {}, "lean": {}}
        for place, load in enumerate(line.loads()):
            for party, proxy in (("addon", line.addon), ("lean", line.lean)):
                if measured := duels.get((name, load.label, proxy)):
                    own[party][load.label] = figure(measured)
            if load.label in own["addon"] and line.goals:
                each, goal = own["addon"][load.label], line.goals[place]
                each |= {"goal": goal, "met": each["ratio"]["median"] <= goal}
        found[name] = own
    return found
