"""What the benchmark runs: parts, each a list of loads, and how large these are."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from workshop.bench.sides import DIRECT, FLOOR, Side

PARTS = ("paced", "burst", "saturation", "latency", "memory")
"""Duels of whole streams with a gap between events, and without; then each by itself."""
ROUNDS = ("paced", "burst", "saturation", "latency")
"""Those of every round; memory is measured once."""

GAP_US = 10_000
PACED = {5: 50, 60: 10, 600: 10}
"""Events of a stream, and how many streams of each party: short ones are the most."""
BURST_STREAMS = 2
BURST_SECONDS = 0.6  # that the side would take alone
BURST_SLOW = (
    3  # how many times slower than the floor a side may be without fewer events
)
SATURATION = {1: 0.5, 20: 0.8}  # streams, and seconds
LATENCY_STREAMS = (1, 10, 50)
LATENCY_EVENTS = 100
MEMORY_EVENTS = 200_000
WARM_UP_STREAMS = 4
WARM_UP_EVENTS = 1000
LEAST = 20  # events of a stream
MOST = 100_000  # events of a load without a gap


class Job(NamedTuple):
    """One load of a part.

    Attributes:
        part: One of `PARTS`.
        side: The side that it is about.
        streams: How many streams of it run at once.
        events: How many events each of them has.
    """

    part: str
    side: Side
    streams: int
    events: int


class JobResult(NamedTuple):
    """What the client reports of a job in one round.

    Attributes:
        job: The job.
        round: Which round, from 0.
        reported: What the client reports of the side.
        floor: What it reports of the floor that ran beside it, in a duel.
    """

    job: Job
    round: int
    reported: dict[str, Any]
    floor: dict[str, Any] | None = None


def jobs_of(
    part: str, sides: Sequence[Side], scale: float, pace: Mapping[str, float]
) -> list[Job]:
    """Return the loads of *part*, for one round.

    Args:
        part: One of `PARTS`.
        sides: Whom it is about.
        scale: How much of the usual traffic.
        pace: How many seconds each side takes for an event at saturation: what is slow
            gets fewer events, so that it ends in good time.
    """

    def steady(side: Side, streams: int, events: float) -> Job:
        return Job(part, side, streams, max(LEAST, int(events * scale)))

    def burst(side: Side, streams: int, seconds: float, slowest: float = inf) -> Job:
        events = min(MOST, seconds * scale / min(pace[side.name], slowest))
        return Job(part, side, streams, max(LEAST, int(events / streams)))

    proxied = [side for side in sides if side is not DIRECT]
    rivals = [side for side in proxied if side is not FLOOR]
    match part:
        case "paced":
            return [
                # More at once would be another load: more rounds are what there is for that.
                Job(
                    part, side, max(1, int(streams * min(1, scale) / side.slow)), events
                )
                for events, streams in PACED.items()
                for side in rivals
            ]
        case "burst":
            # Else what the floor does for its connections would count for much.
            slowest = BURST_SLOW * pace[FLOOR.name]
            return [burst(s, BURST_STREAMS, BURST_SECONDS, slowest) for s in rivals]
        case "saturation":
            loads = SATURATION.items()
            return [
                burst(s, streams, seconds) for s in sides for streams, seconds in loads
            ]
        case "latency":
            return [
                steady(s, streams, LATENCY_EVENTS)
                for streams in LATENCY_STREAMS
                for s in sides
            ]
    return [steady(s, 1, MEMORY_EVENTS / s.slow) for s in proxied]
