"""Clients that hardly read: what they cost mitmdump, and what others feel of them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from workshop.certificates import client_context
from workshop.load.clients import Client, Result
from workshop.load.figures import Felt, Hoard
from workshop.load.paced import Phase, Spoken, seconds_at
from workshop.load.side import Place, Side
from workshop.traffic.memory import weigh

OTHERS = 100
"""Streams at most that run beside the slow clients."""
FLOOD = Phase(200_000, 1)
"""What a slow client is offered: some 60 MB."""
UNREAD = 2
"""Clients that read nothing over HTTP/2: what they cost is memory."""
WHEN = {"without": 1, "while buffers fill": 3, "with": 1}
"""What others feel, and how many steps each takes."""


def seconds_of(side: Side) -> float:
    """Return how long each step takes."""
    return min(max(side.place.asked.seconds / 6, 1), 15)


def slow_clients(side: Side) -> list[Client]:
    """Return clients that read some bytes now and then."""
    return _clients(side, side.place.asked.slow, slow=True)


def unread_clients(side: Side) -> list[Client]:
    """Return clients that take their first window over HTTP/2, and no more."""
    context = client_context(side.proxy.confdir / "mitmproxy-ca-cert.pem", ["h2"])
    return _clients(side, UNREAD, unread=True, context=context)


def _clients(side: Side, count: int, **how: Any) -> list[Client]:
    return [
        Client(Spoken(seed, [FLOOD], flood=True), repaired=side.repaired, **how)
        for seed in side.seeds(count)
    ]


async def measure(name: str, place: Place) -> None:
    """Measure both for the side *name*, and write the figures down."""
    # Each in a mitmdump of its own: memory that another gave back would be reused.
    async with Side(name, place) as side:
        side.say(f"{place.asked.slow} clients that hardly read")
        await _cost(side, "HTTP/1.1, 1 KB/s", slow_clients(side))
    async with Side(name, place) as side:
        side.say(f"{UNREAD} clients that read nothing over HTTP/2")
        await _cost(side, "HTTP/2, nothing read", unread_clients(side))
    async with Side(name, place) as side:
        side.say("others beside clients that hardly read")
        await _feel(side)


class _Crowd:
    """Slow clients, from their beginning to their end.

    Args:
        side: Where.
        clients: They.
    """

    def __init__(self, side: Side, clients: Sequence[Client]) -> None:
        self._side = side
        self._clients = clients
        place = side.proxy.places[0]
        self._tasks = [asyncio.create_task(each.run(place)) for each in clients]
        self._before = weigh(side.proxy.pid).rss

    async def taken(self) -> float:
        """Return the bytes that the provider could hand over for each."""
        floods = (await self._side.open("nothing"))["floods"]
        total: int = sum(floods.get(str(each.spoken.seed), 0) for each in self._clients)
        return total / len(self._clients)

    def grown(self) -> float:
        """Return the bytes that mitmdump weighs more than before, for each."""
        return (weigh(self._side.proxy.pid).rss - self._before) / len(self._clients)

    async def leave(self) -> None:
        """Let them go; what they read has been checked."""
        result = Result()
        for each, task in zip(self._clients, self._tasks, strict=True):
            if task.done():
                each.check.faults.append(f"it ended by itself: {task!r}")
            task.cancel()
            result.add(each)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._side.place.figures.total.include(result)


async def _cost(side: Side, how: str, clients: Sequence[Client]) -> None:
    """Measure what *clients* cost while nobody else is there."""
    seconds = seconds_of(side)
    await side.settled()
    crowd = _Crowd(side, clients)
    steps = []
    for _ in range(2):
        await asyncio.sleep(seconds)
        steps.append((await crowd.taken(), crowd.grown()))
    await crowd.leave()
    taken, grown = zip(*steps, strict=True)
    side.place.figures.hoards.append(Hoard(side.name, how, taken, grown))


async def _feel(side: Side) -> None:
    """Measure what others feel of slow clients."""
    asked, seconds = side.place.asked, seconds_of(side)
    count = min(asked.streams, OTHERS)
    phases = [Phase(asked.rates[0], seconds * steps) for steps in WHEN.values()]
    others = side.group(count, *phases, first="others")
    await others.begin()
    await side.open("others")
    await asyncio.sleep(seconds)
    crowd = _Crowd(side, slow_clients(side))
    side.place.figures.total.include(await others.end())
    await crowd.leave()
    side.place.figures.felt += [
        Felt(side.name, when, seconds_at(late, 0.5), seconds_at(late, 0.99))
        for when, late in zip(WHEN, others.late, strict=True)
    ]
