"""An asyncio server for providers that misbehave on purpose, by h11 and h2."""

import asyncio
import contextlib
import json
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from http.client import responses
from typing import Any, Self

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from workshop import LOOPBACK
from workshop.traffic.http1 import (
    LAST_CHUNK,
    Framing,
    FramingError,
    Request,
    RequestReader,
    chunked,
)

BACKLOG = 4096
_TURNS = 4  # of the loop, until a connection that was accepted is known

type Act = Callable[[h2.connection.H2Connection, int], bytes | None]
"""What else an HTTP/2 provider does on a stream; may return bytes to be sent."""


class GoneError(Exception):
    """Whoever asked has hung up."""


class Exchange:
    """One request, and the way to answer it.

    Attributes:
        request: The request.
        sent: Bytes of the body handed to the socket.
    """

    shared = False
    """Whether others are answered on the same connection meanwhile."""

    def __init__(self, request: Request, connection: "Connection") -> None:
        self.request = request
        self.sent = 0
        self._connection = connection
        self._framing: Framing = "close"

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
        lines = [f"{version} {status} {responses.get(status, 'Whatever')}"]
        fields = {"content-type": "text/event-stream", **(headers or {})}
        if framing == "chunked":
            fields["transfer-encoding"] = "chunked"
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self.write("\r\n".join([*lines, "", ""]).encode())

    def send(self, data: bytes) -> None:
        """Send some of the body, as one HTTP chunk where there are any."""
        self.sent += len(data)
        self.write(chunked(data) if self._framing == "chunked" else data)

    def act(self, act: Act) -> None:
        """Do what only HTTP/2 has."""
        raise AssertionError(f"{act} is for HTTP/2")

    def end(self) -> None:
        """End the answer as its framing has it."""
        if self._framing == "chunked":
            self.write(LAST_CHUNK)
        if self._framing == "close":
            self._connection.transport.close()

    async def cut(self) -> None:
        """Close the connection, in TLS without a farewell, once all is on its way."""
        self._connection.transport.set_write_buffer_limits(1)
        await self._connection.writable.wait()
        # To close it would reset it, where something of the peer's is unread, or comes
        # later: then the peer may lose what it has not read yet. It closes it in turn.
        raw = self._connection.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            raw.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Reset the connection: what is on its way may be lost."""
        raw = self._connection.transport.get_extra_info("socket")
        if raw is not None:
            # Zero seconds of lingering: the kernel sends RST instead of FIN.
            linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
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

    def write(self, data: bytes) -> None:
        """Send bytes as they are.

        Raises:
            GoneError: The peer has hung up.
        """
        if self.gone:
            raise GoneError
        self._connection.transport.write(data)


class Http2Exchange(Exchange):
    """One request over HTTP/2, and the way to answer it."""

    shared = True

    def __init__(
        self,
        request: Request,
        connection: "Connection",
        http: h2.connection.H2Connection,
        stream: int,
    ) -> None:
        super().__init__(request, connection)
        self._h2 = http
        self._stream = stream

    def head(
        self,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        framing: Framing = "",
        version: str = "",
    ) -> None:
        """Send the head."""
        fields = {"content-type": "text/event-stream", **(headers or {})}
        head = [(":status", str(status)), *fields.items()]
        self.act(lambda http, stream: http.send_headers(stream, head))

    def send(self, data: bytes) -> None:
        """Send some of the body."""
        self.sent += len(data)

        def send(http: h2.connection.H2Connection, stream: int) -> None:
            size = http.max_outbound_frame_size
            for at in range(0, len(data), size) or [0]:
                http.send_data(stream, data[at : at + size])

        self.act(send)

    def end(self) -> None:
        """End the answer."""
        self.act(lambda http, stream: http.end_stream(stream))

    def reset(self) -> None:
        """Reset the stream."""
        code = h2.errors.ErrorCodes.INTERNAL_ERROR
        with contextlib.suppress(GoneError):  # it may have ended already
            self.act(lambda http, stream: http.reset_stream(stream, code))

    def act(self, act: Act) -> None:
        """Do something on the stream.

        Raises:
            GoneError: The client has cancelled it, or hung up.
        """
        try:
            more = act(self._h2, self._stream)
        except h2.exceptions.ProtocolError:
            raise GoneError from None
        self.write(self._h2.data_to_send() + (more or b""))


type Answer = Callable[[Exchange], Coroutine[Any, Any, None]]


class _Http1:
    """Requests that are answered one after the other."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._reader = RequestReader()
        self._requests: asyncio.Queue[Request] = asyncio.Queue()
        connection.begin(self._run())

    def feed(self, data: bytes) -> None:
        for request in self._reader.feed(data):
            self._requests.put_nowait(request)

    async def _run(self) -> None:
        while True:
            request = await self._requests.get()
            await self._connection.answer(Exchange(request, self._connection))


class _Http2:
    """Requests that are answered side by side."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        self._requests: dict[int, tuple[dict[str, str], list[bytes]]] = {}
        self._h2.initiate_connection()
        self.feed(b"")

    def feed(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            self._handle(event)
        self._connection.transport.write(self._h2.data_to_send())

    def _handle(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            headers: dict[str, str] = dict(event.headers or ())  # type: ignore[arg-type]
            self._requests[event.stream_id or 0] = (headers, [])
        elif isinstance(event, h2.events.DataReceived):
            stream = event.stream_id or 0
            self._requests[stream][1].append(event.data or b"")
            size = event.flow_controlled_length or 0
            self._h2.acknowledge_received_data(size, stream)
        elif isinstance(event, h2.events.StreamEnded):
            self._begin(event.stream_id or 0)

    def _begin(self, stream: int) -> None:
        headers, body = self._requests.pop(stream)
        method, path = headers[":method"], headers[":path"]
        request = Request(method, path, "HTTP/2.0", headers, b"".join(body))
        exchange = Http2Exchange(request, self._connection, self._h2, stream)
        self._connection.begin(self._connection.answer(exchange))


class Connection(asyncio.Protocol):
    """One connection; ALPN says what it speaks.

    Args:
        answer: Answers one request.
    """

    transport: asyncio.Transport

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.writable = asyncio.Event()
        self.protocol = "http/1.1"
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.writable.set()
        # asyncio does so for a listener of its own, but not for one of
        # `socket.create_server`: there a second small write waits 40 ms for the peer's
        # system to acknowledge the first.
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self.protocol = tls.selected_alpn_protocol() or self.protocol
        self._http = (_Http2 if self.protocol == "h2" else _Http1)(self)

    def data_received(self, data: bytes) -> None:
        """Take some of a request."""
        try:
            self._http.feed(data)
        except FramingError:
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            self.transport.close()
        except h2.exceptions.ProtocolError:
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
        for task in self._tasks:
            task.cancel()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Answer, for as long as the connection lasts."""
        task = asyncio.create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except GoneError:
            if self.protocol != "h2":
                self.transport.abort()
        except Exception as error:  # noqa: BLE001 - of the answer's author
            self.transport.abort()
            context = {"message": "no answer", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)


def serve(answer: Answer, **contexts: ssl.SSLContext | None) -> None:
    """Serve until this process is ended, on a port for each of *contexts*.

    Whoever started it reads their numbers, by name, and the traceback of an answer that
    could not be given: `workshop.traffic.process.ProviderProcess`.
    """

    async def run() -> None:
        loop = asyncio.get_running_loop()
        servers = {
            name: await loop.create_server(
                lambda: Connection(answer), LOOPBACK, 0, ssl=each, backlog=BACKLOG
            )
            for name, each in contexts.items()
        }
        ports = {
            name: server.sockets[0].getsockname()[1] for name, server in servers.items()
        }
        print("@" + json.dumps(ports), flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


class ServerThread:
    """A server in a thread of this process, until it is closed.

    Args:
        answer: Answers one request.
        context: TLS settings; None for plain TCP.
        port: Where to listen; any free one if 0.

    Attributes:
        connections: Those that are open.
        protocols: The protocol of each connection, in order.
    """

    def __init__(
        self, answer: Answer, context: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self.connections: set[Connection] = set()
        self.protocols: list[str] = []
        self._play = answer
        self._context = context
        self._listener = socket.create_server((LOOPBACK, port))
        self.port = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close every socket."""
        with contextlib.suppress(RuntimeError):  # it has been closed
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await self._loop.create_server(
            lambda: _Known(self, self._play),
            sock=self._listener,
            ssl=self._context,
            backlog=BACKLOG,
        )
        await self._closing.wait()
        # asyncio forgets, unclosed, what it has just accepted for a server that is closed.
        self._loop.remove_reader(self._listener)
        turns = 0
        while self.connections or turns < _TURNS:
            for each in self.connections:
                each.transport.abort()
            turns += 1
            await asyncio.sleep(0)
        server.close()


class _Known(Connection):
    """A connection that its server knows of."""

    def __init__(self, server: ServerThread, answer: Answer) -> None:
        super().__init__(answer)
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._server.protocols.append(self.protocol)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._server.connections.discard(self)


async def ticks(due: float, gaps: Iterable[float]) -> AsyncIterator[float]:
    """Yield the times that are due as they come: *due*, and after each of *gaps*.

    What is late does not delay what follows.
    """
    for gap in gaps:
        if (wait := due - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        yield due
        due += gap
