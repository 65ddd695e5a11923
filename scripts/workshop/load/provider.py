"""The provider of the load, in a process of its own: text at a given pace."""

import asyncio
import json
import time
from collections import defaultdict

from llm_normalize.report.histogram import Histogram
from workshop.load.paced import PATH, Spoken, Words, seconds_at
from workshop.traffic.server import Exchange, serve, ticks


class Provider:
    """Says what its requests ask for, and tells how it went."""

    def __init__(self) -> None:
        self._late = Histogram()
        self._gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._floods: dict[int, Exchange] = {}

    async def answer(self, exchange: Exchange) -> None:
        """Answer one request."""
        if exchange.request.path == PATH:
            await self._speak(Spoken.read(exchange.request.body), exchange)
        else:
            self._control(json.loads(exchange.request.body), exchange)

    def _control(self, gates: list[str], exchange: Exchange) -> None:
        for gate in gates:
            self._gates[gate].set()
        floods = {seed: one.sent - one.unsent for seed, one in self._floods.items()}
        late = seconds_at(self._late, 0.99)
        data = json.dumps({"late": late, "floods": floods}).encode()
        length = {"content-length": str(len(data))}
        exchange.head(headers=length, framing="length")
        exchange.send(data)

    async def _speak(self, spoken: Spoken, exchange: Exchange) -> None:
        words = Words(spoken.seed)
        exchange.head()
        exchange.send(words.opening())
        if spoken.first:
            await self._gates[spoken.first].wait()
        if spoken.flood:
            self._floods[spoken.seed] = exchange
            exchange.keep_little()
            for n in range(spoken.events):
                exchange.send(words.text(n, time.monotonic_ns()))
                await exchange.drained()
        else:
            await self._pace(spoken, words, exchange)
        if spoken.last:
            await self._gates[spoken.last].wait()
        for event in words.ending(spoken.events):
            exchange.send(event)
        exchange.end()

    async def _pace(self, spoken: Spoken, words: Words, exchange: Exchange) -> None:
        gaps = (1 / phase.rate for phase in spoken.phases for _ in range(phase.events))
        n = 0
        async for due in ticks(time.monotonic() + spoken.delay, gaps):
            now = time.monotonic_ns()
            self._late.add(max(now / 1e6 - due * 1000, 0))
            exchange.send(words.text(n, now))
            n += 1


if __name__ == "__main__":
    serve(Provider().answer, port=None)
