"""The clients of the load: each asks for one stream, and checks it as it comes."""

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm_normalize.report.histogram import Histogram
from workshop.load.paced import PATH, Check, Phase, Spoken
from workshop.mitmdump import Place
from workshop.traffic import http2
from workshop.traffic.http1 import FramingError, ResponseReader
from workshop.traffic.process import HOST

AT_ONCE = 60
"""Connections that are made at the same time: a listener's queue is short."""
PATIENCE = 60.0
"""Seconds that a stream may take longer than its text."""


class Client(asyncio.Protocol):
    """One connection with one request.

    Args:
        spoken: What to ask for.
        check: Takes the answer.
    """

    def __init__(self, spoken: Spoken, check: Check) -> None:
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.bytes = 0
        self.check = check
        self.spoken = spoken
        self._reader = ResponseReader()
        # Events that come before its first gate.
        self._before = 0 if spoken.first else spoken.events

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        body = self.spoken.body()
        transport.write(
            f"POST {PATH} HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )

    def data_received(self, data: bytes) -> None:
        """Take some of the answer."""
        now = time.monotonic_ns()
        self.bytes += len(data)
        try:
            body = self._reader.feed(data)
        except FramingError as error:
            self.check.faults.append(f"no HTTP: {error}")
            self.transport.abort()
            return
        if self._reader.status not in (0, 200):
            self.check.faults.append(f"the status is {self._reader.status}")
        if body:
            self.check.feed(body, now)
            if not self.begun.done() and self.check.heard > self._before:
                self.begun.set_result(None)
        if self._reader.done:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the connection's end."""
        self.check.end(clean=self._reader.end())
        for each in (self.begun, self.ended):
            if not each.done():
                each.set_result(None)


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

    def add(self, client: "Client | Slow | Unread") -> None:
        """Count a stream that is over."""
        self.streams += 1
        self.events += client.check.events
        self.bytes += client.bytes
        if client.check.faults:
            self.faults[client.spoken.seed] = client.check.faults


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
        self._clients: list[Client] = []

    async def begin(self) -> None:
        """Begin the streams, and wait until each has sent what precedes its gate."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(spoken: Spoken) -> None:
            async with gate:
                client = await connect(
                    self._place, spoken, repaired=self._repaired, late=self.late
                )
                self._clients.append(client)
                await client.begun

        await asyncio.gather(*map(one, self._spoken))

    async def end(self, patience: float = PATIENCE) -> Result:
        """Wait for the end of all, and return their results."""
        seconds = sum(each.seconds for each in self._spoken[0].phases) + patience
        await asyncio.wait([each.ended for each in self._clients], timeout=seconds)
        result = Result()
        for client in self._clients:
            if not client.ended.done():
                client.check.faults.append("it never ended")
                client.transport.abort()
            result.add(client)
        return result


async def connect(
    place: Place, spoken: Spoken, *, repaired: bool, late: Sequence[Histogram] = ()
) -> Client:
    """Begin one stream."""
    check = Check(spoken, repaired=repaired, late=late)
    loop = asyncio.get_running_loop()
    _, client = await loop.create_connection(lambda: Client(spoken, check), *place)
    return client


# -- clients that hardly read -------------------------------------------------------

SLOW_RATE = 1024
"""Bytes a second that a slow client reads."""
_SIP = 256
_WINDOW = 64 * 1024 - 1


class Unread:
    """A client that takes over HTTP/2 what its first window holds, and no more.

    Args:
        spoken: What it asks for.
        repaired: Whether it comes repaired.
        trusted: The certificate that it trusts: HTTP/2 needs TLS.
    """

    def __init__(self, spoken: Spoken, trusted: Path, *, repaired: bool) -> None:
        self.check = Check(spoken, repaired=repaired)
        self.bytes = 0
        self.spoken = spoken
        self._trusted = trusted

    async def run(self, place: Place) -> None:
        """Ask, and acknowledge nothing of what comes; it is checked."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self._trusted)
        context.set_alpn_protocols(["h2"])
        streams = await asyncio.open_connection(
            *place, ssl=context, server_hostname="localhost"
        )
        client = http2.Client(*streams, _WINDOW)
        try:
            head = [(":method", "POST"), (":scheme", "https")]
            head += [(":authority", "localhost"), (":path", PATH)]
            body = self.spoken.body()
            _, reply = client.ask([*head, ("content-length", str(len(body)))], body)
            while (news := await reply.news.get()) is not None:
                self.bytes += len(news[0])
                self.check.feed(news[0], time.monotonic_ns())
            self.check.end(clean=reply.done)
        finally:
            await client.close()


class Slow:
    """A client that reads so slowly that its stream backs up.

    Args:
        spoken: What it asks for.
        repaired: Whether it comes repaired.
    """

    def __init__(self, spoken: Spoken, *, repaired: bool) -> None:
        self.check = Check(spoken, repaired=repaired)
        self.bytes = 0
        self.spoken = spoken

    async def run(self, place: Place) -> None:
        """Ask, and read until cancelled; check what arrives."""
        loop = asyncio.get_running_loop()
        with socket.socket() as raw:
            raw.setblocking(False)
            # The kernel is not to read in its place.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await loop.sock_connect(raw, place)
            body = self.spoken.body()
            head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n"
            await loop.sock_sendall(raw, head.encode() + b"\r\n" + body)
            reader = ResponseReader()
            while data := await loop.sock_recv(raw, _SIP):
                self.bytes += len(data)
                self.check.feed(reader.feed(data), time.monotonic_ns())
                await asyncio.sleep(_SIP / SLOW_RATE)
            self.check.end(clean=reader.end())
