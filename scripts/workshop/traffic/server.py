"""An asyncio HTTP/1 server for providers that misbehave on purpose."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from workshop.traffic.http1 import (
    LAST_CHUNK,
    Framing,
    FramingError,
    Request,
    RequestReader,
    chunked,
)

HOST = "127.0.0.1"
BACKLOG = 4096


class GoneError(Exception):
    """Whoever asked has hung up."""


class Exchange:
    """One request, and the way to answer it.

    Attributes:
        request: The request.
        sent: Bytes of the body handed to the socket.
    """

    def __init__(self, request: Request, connection: "Connection") -> None:
        self.request = request
        self.sent = 0
        self._connection = connection
        self._framing: Framing = "chunked"

    @property
    def gone(self) -> bool:
        """Whether the peer has hung up."""
        return self._connection.transport.is_closing()

    @property
    def unsent(self) -> int:
        """Bytes that the socket has not taken yet."""
        return self._connection.transport.get_write_buffer_size()

    def head(
        self,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        framing: Framing = "chunked",
        version: str = "HTTP/1.1",
    ) -> None:
        """Send the head; a content-length is the caller's business."""
        self._framing = framing
        lines = [f"{version} {status} Whatever"]
        fields = {"content-type": "text/event-stream", **(headers or {})}
        if framing == "chunked":
            fields["transfer-encoding"] = "chunked"
        if framing == "close":
            fields["connection"] = "close"
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self._write("\r\n".join([*lines, "", ""]).encode())

    def send(self, data: bytes) -> None:
        """Send some of the body, as one HTTP chunk where there are any."""
        self.sent += len(data)
        self._write(chunked(data) if self._framing == "chunked" else data)

    def end(self) -> None:
        """End the answer as its framing has it."""
        if self._framing == "chunked":
            self._write(LAST_CHUNK)
        if self._framing == "close":
            self.cut()

    def cut(self) -> None:
        """Close the connection."""
        self._connection.transport.close()

    def reset(self) -> None:
        """Reset the connection: what is on its way may be lost."""
        raw = self._connection.transport.get_extra_info("socket")
        if raw is not None:
            # Zero seconds of lingering: the kernel sends RST instead of FIN.
            linger = struct.pack("ii", 1, 0)
            with contextlib.suppress(OSError):
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._connection.transport.abort()

    def keep_little(self) -> None:
        """Let the kernel keep little of what is sent, so that pressure is felt soon."""
        raw = self._connection.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)

    async def drained(self) -> None:
        """Wait until the peer has taken most of what was sent.

        Raises:
            GoneError: It has hung up.
        """
        await self._connection.writable.wait()
        if self.gone:
            raise GoneError

    def _write(self, data: bytes) -> None:
        if self.gone:
            raise GoneError
        self._connection.transport.write(data)


type Answer = Callable[[Exchange], Awaitable[None]]


class Connection(asyncio.Protocol):
    """One connection; its requests are answered one after the other.

    Args:
        answer: Answers one request.
    """

    transport: asyncio.Transport

    def __init__(self, answer: Answer) -> None:
        self.writable = asyncio.Event()
        self._answer = answer
        self._reader = RequestReader()
        self._requests: asyncio.Queue[Request] = asyncio.Queue()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.writable.set()
        self._task = asyncio.create_task(self._run())

    def data_received(self, data: bytes) -> None:
        """Take some of a request."""
        try:
            for request in self._reader.feed(data):
                self._requests.put_nowait(request)
        except FramingError:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Take note that the peer does not read."""
        self.writable.clear()

    def resume_writing(self) -> None:
        """Take note that the peer has read."""
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End what is under way."""
        self.writable.set()
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            exchange = Exchange(await self._requests.get(), self)
            try:
                await self._answer(exchange)
            except GoneError:
                self.transport.abort()
                return


class Place(NamedTuple):
    """Where a server listens."""

    server: asyncio.Server
    port: int


async def listen(answer: Answer, context: ssl.SSLContext | None = None) -> Place:
    """Serve on a free port of loopback."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(answer), HOST, 0, ssl=context, backlog=BACKLOG
    )
    return Place(server, server.sockets[0].getsockname()[1])
