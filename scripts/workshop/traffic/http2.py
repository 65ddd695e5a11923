"""HTTP/2 for the soak: connections of clients, and of a provider that misbehaves."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from workshop.traffic.http1 import Request
from workshop.traffic.server import GoneError


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


def _plain(fields: Any) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in fields or ()}


# -- the provider -----------------------------------------------------------------------


class Exchange:
    """One request over HTTP/2, and the way to answer it."""

    def __init__(self, request: Request, connection: "Connection", stream: int) -> None:
        self.request = request
        self._connection = connection
        self._stream = stream

    def head(
        self, status: int, headers: Mapping[str, str], *_: object, **__: object
    ) -> None:
        """Send the head."""
        fields = [(":status", str(status)), *headers.items()]
        self._do(lambda h2_: h2_.send_headers(self._stream, fields))

    def send(self, data: bytes) -> None:
        """Send some of the body."""

        def send(h2_: h2.connection.H2Connection) -> None:
            step = h2_.max_outbound_frame_size
            for at in range(0, len(data), step):
                h2_.send_data(self._stream, data[at : at + step])

        self._do(send)

    def end(self) -> None:
        """End the answer."""
        self._do(lambda h2_: h2_.end_stream(self._stream))

    def cut(self) -> None:
        """Break the answer off: its connection has others on it."""
        code = h2.errors.ErrorCodes.INTERNAL_ERROR
        self._do(lambda h2_: h2_.reset_stream(self._stream, code))

    def reset(self) -> None:
        """Break the answer off."""
        with contextlib.suppress(GoneError):  # it may have ended already
            self.cut()

    async def drained(self) -> None:
        """Wait for room; mitmproxy's windows are as large as they can be."""
        await self._connection.writable.wait()

    def _do(self, what: Callable[[h2.connection.H2Connection], None]) -> None:
        try:
            what(self._connection.h2)
        except h2.exceptions.ProtocolError:
            raise GoneError from None  # the client has cancelled the stream
        self._connection.flush()


class Connection(asyncio.Protocol):
    """One HTTP/2 connection of a provider; its requests are answered side by side.

    Args:
        answer: Answers one request.
    """

    transport: asyncio.Transport

    def __init__(self, answer: Callable[[Exchange], Awaitable[None]]) -> None:
        self.writable = asyncio.Event()
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        self._answer = answer
        self._requests: dict[int, tuple[dict[str, str], list[bytes]]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.writable.set()
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Take frames."""
        try:
            for event in self.h2.receive_data(data):
                self._take(event)
            self.flush()
        except (h2.exceptions.ProtocolError, GoneError):
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
        for task in self._tasks.values():
            task.cancel()

    def flush(self) -> None:
        """Send what is to be sent."""
        if self.transport.is_closing():
            raise GoneError
        self.transport.write(self.h2.data_to_send())

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            assert event.stream_id
            self._requests[event.stream_id] = (_plain(event.headers), [])
        elif isinstance(event, h2.events.DataReceived):
            assert event.stream_id
            self._requests[event.stream_id][1].append(event.data or b"")
            self.h2.acknowledge_received_data(
                event.flow_controlled_length or 0, event.stream_id
            )
        elif isinstance(event, h2.events.StreamEnded):
            assert event.stream_id
            self._begin(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            task = self._tasks.get(event.stream_id or 0)
            if task is not None:
                task.cancel()

    def _begin(self, stream: int) -> None:
        headers, body = self._requests.pop(stream)
        method, path = headers[":method"], headers[":path"]
        request = Request(method, path, "HTTP/2.0", headers, b"".join(body))
        task = asyncio.create_task(self._run(Exchange(request, self, stream)))
        self._tasks[stream] = task
        task.add_done_callback(lambda _: self._tasks.pop(stream, None))

    async def _run(self, exchange: Exchange) -> None:
        with contextlib.suppress(GoneError):
            await self._answer(exchange)


# -- the client -------------------------------------------------------------------------


class Reply:
    """An answer over HTTP/2, as it comes.

    Attributes:
        status: 0 until the head is there.
        done: Whether it has come to its own end.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.done = False
        self.news: asyncio.Queue[tuple[bytes, int] | None] = asyncio.Queue()
        """What came of the body, and its weight in the window; None is the end."""


class Client:
    """A connection of a client, with several requests at once.

    Args:
        reader: From the proxy.
        writer: To the proxy.
        window: Bytes that it takes before it has read them.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, window: int
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._replies: dict[int, Reply] = {}
        config = h2.config.H2Configuration(header_encoding="utf-8")
        self._h2 = h2.connection.H2Connection(config)
        # Before the connection begins, so that its first frame says so.
        self._h2.local_settings.initial_window_size = window
        self._h2.local_settings.acknowledge()
        self._h2.initiate_connection()
        if window > self._h2.inbound_flow_control_window:
            more = window - self._h2.inbound_flow_control_window
            self._h2.increment_flow_control_window(more)
        self._flush()
        self._task = asyncio.create_task(self._run())

    def ask(self, headers: list[tuple[str, str]], body: bytes) -> tuple[int, Reply]:
        """Send a request, and return its stream and where its answer comes."""
        stream = self._h2.get_next_available_stream_id()
        reply = self._replies[stream] = Reply()
        self._h2.send_headers(stream, headers, end_stream=not body)
        if body:
            self._h2.send_data(stream, body, end_stream=True)
        self._flush()
        return stream, reply

    def acknowledge(self, stream: int, weight: int) -> None:
        """Say that so many bytes of an answer were read."""
        with contextlib.suppress(h2.exceptions.ProtocolError):  # it has ended
            self._h2.acknowledge_received_data(weight, stream)
        self._flush()

    def cancel(self, stream: int) -> None:
        """Leave one answer."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self._flush()

    def forget(self, stream: int) -> None:
        """Take note that nobody reads an answer any more: others need the window."""
        reply = self._replies.pop(stream)
        while not reply.news.empty():
            if news := reply.news.get_nowait():
                self.acknowledge(stream, news[1])

    async def close(self) -> None:
        """Close the connection."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._writer.close()

    def _flush(self) -> None:
        if not self._writer.is_closing():
            self._writer.write(self._h2.data_to_send())

    async def _run(self) -> None:
        try:
            while data := await self._reader.read(65536):
                for event in self._h2.receive_data(data):
                    self._take(event)
                self._flush()
        except (OSError, h2.exceptions.ProtocolError):
            pass
        finally:
            for reply in self._replies.values():
                reply.news.put_nowait(None)

    def _take(self, event: h2.events.Event) -> None:
        reply = self._replies.get(getattr(event, "stream_id", None) or 0)
        if reply is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            reply.headers = _plain(event.headers)
            reply.status = int(reply.headers[":status"])
        elif isinstance(event, h2.events.DataReceived):
            weight = event.flow_controlled_length or 0
            reply.news.put_nowait((event.data or b"", weight))
        elif isinstance(event, h2.events.StreamEnded):
            reply.done = True
            reply.news.put_nowait(None)
        elif isinstance(event, h2.events.StreamReset):
            reply.news.put_nowait(None)
