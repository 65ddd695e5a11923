"""The clients of the load: each asks for one stream, and checks it as it comes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_normalize.report.histogram import Histogram
from workshop.load.paced import PATH, Check, Phase, Spoken
from workshop.mitmdump import Place
from workshop.traffic import client as traffic
from workshop.traffic.client import connect
from workshop.traffic.http1 import FramingError

AT_ONCE = 60
"""Connections that are made at the same time: a listener's queue is short."""
PATIENCE = 60.0
"""Seconds that a stream may take longer than its text."""
SLOW_RATE = 1024
"""Bytes a second that a slow client reads."""
_SIP = 256


class Client:
    """One connection with one request.

    Args:
        spoken: What to ask for.
        repaired: Whether it comes repaired.
        late: Where times are counted, one for each phase.
        slow: Whether it reads so slowly that its stream backs up.
        unread: Whether it takes over HTTP/2 what its first window holds, and no more.
        options: How to connect, beside the place.

    Attributes:
        begun: Set when it has got what precedes its first gate, or has ended.
    """

    def __init__(
        self,
        spoken: Spoken,
        *,
        repaired: bool,
        late: Sequence[Histogram] = (),
        slow: bool = False,
        unread: bool = False,
        **options: Any,
    ) -> None:
        self.begun = asyncio.Event()
        self.bytes = 0
        self.check = Check(spoken, repaired=repaired, late=late)
        self.spoken = spoken
        self._slow = slow
        self._unread = unread
        self._options = {"little": slow, **options}
        # Events that come before its first gate.
        self._before = 0 if spoken.first else spoken.events

    async def run(self, place: Place) -> None:
        """Ask, and check what arrives."""
        try:
            async with await connect(place, **self._options) as client:
                try:
                    await self._ask(client)
                finally:
                    self.bytes = client.taken
        except FramingError as error:
            self.check.faults.append(f"no HTTP: {error}")
        finally:
            self.begun.set()

    async def _ask(self, client: traffic.Client) -> None:
        if client.http2:
            client.http2.acknowledges = not self._unread
        answer = client.ask(PATH, self.spoken.body())
        while data := await (answer.read(_SIP) if self._slow else answer.read()):
            self.check.feed(data, client.at)
            if self.check.heard > self._before:
                self.begun.set()
            if self._slow:
                await asyncio.sleep(_SIP / SLOW_RATE)
        if answer.status != 200:  # noqa: PLR2004
            self.check.faults.append(f"the status is {answer.status}")
        self.check.end(clean=answer.done)


@dataclass
class Result:
    """The results of streams.

    Attributes:
        streams: How many there were.
        events: Events of text that arrived.
        bytes: Bytes that arrived, with all framing.
        faults: What was wrong, by the number of the stream.
    """

    streams: int = 0
    events: int = 0
    bytes: int = 0
    faults: dict[int, list[str]] = field(default_factory=dict)

    def add(self, client: Client) -> None:
        """Count a stream that is over."""
        self.streams += 1
        self.events += client.check.events
        self.bytes += client.bytes
        if client.check.faults:
            self.faults[client.spoken.seed] = client.check.faults

    def include(self, other: "Result") -> None:
        """Count those of *other*, too."""
        self.streams += other.streams
        self.events += other.events
        self.bytes += other.bytes
        self.faults |= other.faults


class Group:
    """Streams that run at the same time.

    Args:
        place: Whom to ask.
        seeds: Their numbers.
        phases: What each of them says.
        repaired: Whether the answers come repaired.
        first: The gate before the text.
        last: The gate before the end.

    Attributes:
        late: How long events took, one for each phase.
    """

    def __init__(
        self,
        place: Place,
        seeds: Sequence[int],
        phases: Sequence[Phase],
        *,
        repaired: bool,
        first: str = "",
        last: str = "",
    ) -> None:
        self.late = [Histogram() for _ in phases]
        self._place = place
        self._repaired = repaired
        # Spread over the time between two events, as streams of many users are.
        every = 1 / phases[0].rate
        self._spoken = [
            Spoken(seed, phases, first, every * at / len(seeds), last)
            for at, seed in enumerate(seeds)
        ]
        self._running: list[tuple[Client, asyncio.Task[None]]] = []

    async def begin(self) -> None:
        """Begin the streams, and wait until each has sent what precedes its gate."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(spoken: Spoken) -> None:
            async with gate:
                client = Client(spoken, repaired=self._repaired, late=self.late)
                task = asyncio.create_task(client.run(self._place))
                self._running.append((client, task))
                await client.begun.wait()

        await asyncio.gather(*map(one, self._spoken))

    async def end(self, patience: float = PATIENCE) -> Result:
        """Wait for the end of all, and return their results."""
        seconds = sum(each.seconds for each in self._spoken[0].phases) + patience
        await asyncio.wait([task for _, task in self._running], timeout=seconds)
        result = Result()
        for client, task in self._running:
            if not task.done():
                client.check.faults.append("it never ended")
                task.cancel()
            elif error := task.exception():
                raise error
            result.add(client)
        return result
