"""HTTP/2 of a client, by h2, without a connection: several requests at once."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

type Field = tuple[str, str]


class Reply:
    """An answer over HTTP/2, as it comes.

    Args:
        requests: Those of its connection.
        stream: Its stream.

    Attributes:
        status: 0 until the head is there.
        done: Whether it has come to its own end.
        news: What has arrived of the body, and its weight in the window; None is the end.
    """

    def __init__(self, requests: "Requests", stream: int) -> None:
        self.stream = stream
        self.status = 0
        self.headers: dict[str, str] = {}
        self.done = False
        self.news: asyncio.Queue[tuple[bytes, int] | None] = asyncio.Queue()
        self._requests = requests
        self._weight = 0
        self._is_over = False

    async def read(self, _: int = 0) -> bytes:
        """Return what comes next of the body; nothing at its end, or where it breaks off.

        What it returned before is acknowledged now: the window is what makes a peer wait.
        """
        while True:
            self._acknowledge()
            news = await self.news.get()
            if news is None:
                self.news.put_nowait(None)  # it remains at its end
                self._is_over = True
                return b""
            data, self._weight = news
            if data:
                return data

    def leave(self) -> None:
        """Read no more of it: others need the window."""
        if not (self.done or self._is_over):
            self._requests.cancel(self.stream)
        self._acknowledge()
        self._requests.forget(self.stream)

    def _acknowledge(self) -> None:
        self._requests.acknowledge(self.stream, self._weight)
        self._weight = 0


class Requests:
    """The requests of one connection, and their answers.

    Args:
        send: Takes the bytes for the peer.
        window: Bytes that it takes before it has read them; 0 is HTTP/2's own default.
    """

    acknowledges = True
    """Whether the peer learns what was read, and may send more."""

    def __init__(self, send: Callable[[bytes], object], window: int = 0) -> None:
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(header_encoding="utf-8")
        )
        self.replies: dict[int, Reply] = {}
        self._send = send
        if window:
            # Before the connection begins, so that its first frame says so.
            self.h2.local_settings.initial_window_size = window
            self.h2.local_settings.acknowledge()
        self.h2.initiate_connection()
        if window > self.h2.inbound_flow_control_window:
            more = window - self.h2.inbound_flow_control_window
            self.h2.increment_flow_control_window(more)
        self.flush()

    def flush(self) -> None:
        """Send what is due."""
        if data := self.h2.data_to_send():
            self._send(data)

    def ask(self, headers: Iterable[Field], body: bytes) -> Reply:
        """Send a request, and return where its answer comes."""
        stream = self.h2.get_next_available_stream_id()
        reply = self.replies[stream] = Reply(self, stream)
        self.h2.send_headers(stream, headers, end_stream=not body)
        if body:
            self.h2.send_data(stream, body, end_stream=True)
        self.flush()
        return reply

    def feed(self, data: bytes) -> None:
        """Take what the peer has sent."""
        for event in self.h2.receive_data(data):
            self._handle(event)
        self.flush()

    def end(self) -> None:
        """Take the connection's end."""
        for reply in self.replies.values():
            reply.news.put_nowait(None)

    def acknowledge(self, stream: int, weight: int) -> None:
        """Say that so many bytes of an answer were read, unless nothing is to be said."""
        if not self.acknowledges:
            return
        with contextlib.suppress(h2.exceptions.ProtocolError):  # it has ended
            self.h2.acknowledge_received_data(weight, stream)
        self.flush()

    def cancel(self, stream: int) -> None:
        """Cancel one request."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self.flush()

    def forget(self, stream: int) -> None:
        """Take note that nobody reads an answer any more: others need the window."""
        reply = self.replies.pop(stream)
        while not reply.news.empty():
            if news := reply.news.get_nowait():
                self.acknowledge(stream, news[1])

    def _handle(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ConnectionTerminated):
            self.end()
        reply = self.replies.get(getattr(event, "stream_id", None) or 0)
        if reply is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            reply.headers = dict(event.headers or ())  # type: ignore[arg-type]
            reply.status = int(reply.headers[":status"])
        elif isinstance(event, h2.events.DataReceived):
            weight = event.flow_controlled_length or 0
            reply.news.put_nowait((event.data or b"", weight))
        elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
            reply.done = isinstance(event, h2.events.StreamEnded)
            reply.news.put_nowait(None)
