"""Figures of the benchmark: the results of the jobs, each with its spread over the rounds.

A ratio is taken within one round, of what ran in it, and only then are rounds summed up:
what slows the machine down for a while slows both. In a duel, who is asked first has the
worse of it, or the better, by up to a tenth: so two rounds of it, one in each order, have
one ratio.
"""

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workshop.bench.client import STAGGER
from workshop.bench.jobs import GAP_US, MEMORY_EVENTS, Job, JobResult
from workshop.bench.sides import DIRECT, FLOOR, Side

GROWTH_GOAL = 1.0  # MB; what the system's own pages come to
MB = 1e6
_SHARE = 1 / 3  # of the events between the marks, else all of them count
_LATE = 5  # gaps between events; what ends later than that is not paced any more

type Figures = dict[str, Any]


class Spread(NamedTuple):
    """A figure over the rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread | None":
        """Return the spread of *values*, None of none."""
        found = sorted(values)
        if not found:
            return None
        return cls(statistics.median(found), found[0], found[-1])

    def as_json(self) -> dict[str, float]:
        """Return it for JSON."""
        return self._asdict()


def figures(outcomes: Sequence[JobResult], sides: Sequence[Side]) -> dict[str, Figures]:
    """Return the figures of each side, for JSON."""
    by_part: dict[tuple[str, str], list[JobResult]] = defaultdict(list)
    for each in outcomes:
        by_part[each.job.part, each.job.side.name].append(each)
    found: dict[str, Figures] = {}
    for side in sides:
        own: Figures = {
            "title": side.title,
            "stream": side.kind,
            "straight": side is DIRECT,
        }
        if duels := by_part["paced", side.name]:
            own["paced"] = {
                str(events): _duel(group) for events, group in _by("events", duels)
            }
        if duels := by_part["burst", side.name]:
            own["burst"] = _duel(duels)
        if loads := by_part["saturation", side.name]:
            own["saturation"] = _saturation(loads, by_part["saturation", FLOOR.name])
        if loads := by_part["latency", side.name]:
            direct = by_part["latency", DIRECT.name]
            own["latency"] = _latency(loads, direct)
        if loads := by_part["memory", side.name]:
            own["memory"] = _memory(loads)
        found[side.name] = own
    _compare_latency(found)
    return found


def steady_cost(reported: Mapping[str, Any]) -> float:
    """Return the CPU seconds that a proxy used for an event, while streams ran.

    Where these are too short for that, connections and what comes after count, too.
    """
    window = reported["window"]
    if window and window["events"] >= _SHARE * reported["events"]:
        return float(window["cpu"] / window["events"])
    return whole_cost(reported)


def whole_cost(reported: Mapping[str, Any]) -> float:
    """Return the same with all that a load takes."""
    return float(reported["cpu"] / reported["events"])


def _duel(duels: Sequence[JobResult]) -> Figures:
    paced = duels[0].job.part == "paced"
    goals = duels[0].job.side.goals
    own, floor = [], []
    for each in duels:
        assert each.floor is not None
        own.append(whole_cost(each.reported) * 1e6)
        floor.append(whole_cost(each.floor) * 1e6)
    ratios = [one / other for one, other in zip(own, floor, strict=True)]
    turns = itertools.batched(ratios, 2)
    ratio = Spread.of(statistics.geometric_mean(each) for each in turns)
    assert ratio is not None
    found = {
        "ratio": ratio.as_json(),
        "us": _spread(own),
        "floor_us": _spread(floor),
        **_amount(duels[0].job),
    }
    if paced:
        found["kept_up"] = all(_kept_up(each) for each in duels)
    if goals:
        goal = goals.paced[duels[0].job.events] if paced else goals.burst
        found |= {"goal": goal, "met": ratio.median <= goal}
    return found


def _kept_up(duel: JobResult) -> bool:
    """Tell whether both parties of a paced duel passed events on as fast as they arrived."""
    _, _, streams, events = duel.job
    offered = 2 * streams * STAGGER / 1e9 + events * GAP_US / 1e6
    due = offered + _LATE * GAP_US / 1e6
    return all(each and each["seconds"] <= due for each in (duel.reported, duel.floor))


def _saturation(loads: Sequence[JobResult], floor: Sequence[JobResult]) -> Figures:
    beside = {
        (each.job.streams, each.round): each.reported["events"]
        / each.reported["seconds"]
        for each in floor
    }
    found: Figures = {}
    for streams, group in _by("streams", loads):
        rates = [each.reported["events"] / each.reported["seconds"] for each in group]
        ratios = [
            rate / beside[streams, each.round]
            for rate, each in zip(rates, group, strict=True)
            if (streams, each.round) in beside
        ]
        found[str(streams)] = {
            "events_per_s": _spread(rates),
            "ratio": _spread(ratios),
            "cpu_s_per_100k": _spread(
                whole_cost(each.reported) * 1e5
                for each in group
                if "cpu" in each.reported
            ),
            **_amount(group[0].job),
        }
    return found


def _latency(loads: Sequence[JobResult], direct: Sequence[JobResult]) -> Figures:
    beside = {(each.job.streams, each.round): each.reported for each in direct}
    found: Figures = {}
    for streams, group in _by("streams", loads):
        own: Figures = _amount(group[0].job)
        for name in ("p50", "p99"):
            values = [each.reported["late_us"][name] for each in group]
            added = [
                value - beside[streams, each.round]["late_us"][name]
                for value, each in zip(values, group, strict=True)
                if (streams, each.round) in beside
            ]
            own[f"{name}_us"] = _spread(values)
            own[f"added_{name}_us"] = _spread(added)
        # Later than the next event is due: they queue up.
        own["kept_up"] = own["p50_us"]["median"] <= GAP_US
        firsts = [statistics.median(each.reported["first_ms"]) for each in group]
        own["first_ms"] = _spread(firsts)
        own["cpu_s_per_100k"] = _spread(
            steady_cost(each.reported) * 1e5 for each in group if "cpu" in each.reported
        )
        found[str(streams)] = own
    return found


def _compare_latency(found: Mapping[str, Figures]) -> None:
    """Tell whose median latency is the floor's within the floor's own range."""
    floor = found.get(FLOOR.name, {}).get("latency", {})
    for name, own in found.items():
        for streams, each in own.get("latency", {}).items():
            there = floor.get(streams, {}).get("p50_us")
            here = each["p50_us"]
            if name in (DIRECT.name, FLOOR.name) or not there or not here:
                continue
            # One round has no range, and proves nothing.
            if there["low"] < there["high"]:
                each["like_floor"] = here["median"] <= there["high"]


def _memory(loads: Sequence[JobResult]) -> Figures:
    growth = [
        (rss["end"] - rss["mark"]) / MB
        for rss in (each.reported["rss"] for each in loads)
        if rss["end"] is not None and rss["mark"] is not None
    ]
    found: Figures = {
        "start_mb": _spread(each.reported["rss"]["before"] / MB for each in loads),
        "peak_mb": _spread(each.reported["rss"]["peak"] / MB for each in loads),
        "growth_mb": _spread(growth),
        **_amount(loads[0].job),
    }
    if loads[0].job.events >= MEMORY_EVENTS and loads[0].job.side.goals and growth:
        found |= {"goal": GROWTH_GOAL, "met": max(growth) <= GROWTH_GOAL}
    return found


def _amount(job: Job) -> Figures:
    return {"streams": job.streams, "events": job.events}


def _by(what: str, loads: Sequence[JobResult]) -> list[tuple[int, list[JobResult]]]:
    """Return *loads* by their number of streams, or of events."""
    found: dict[int, list[JobResult]] = defaultdict(list)
    for each in loads:
        found[getattr(each.job, what)].append(each)
    return sorted(found.items())


def _spread(values: Iterable[float]) -> dict[str, float] | None:
    spread = Spread.of(values)
    return spread.as_json() if spread else None
