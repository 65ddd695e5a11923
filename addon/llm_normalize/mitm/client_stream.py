"""Sends to a client at any time: more of an answer, a complete one, or a break.

mitmproxy has no command for it. But its layers can ask to be woken, and an HTTP layer
knows by `command_sources` which of its layers did (mitmproxy/proxy/layers/http/__init__.py,
the same in 12.0 and 12.2). So a substitute for a layer is woken, and what it yields goes where
the commands of the stream go, also while the stream itself waits for a hook. A later
mitmproxy may lack any of these parts: callers must expect any exception.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from functools import partial
from typing import Self, cast

from mitmproxy import connection, flow, http
from mitmproxy.proxy import commands, events, layer, server
from mitmproxy.proxy.layers.http import DropStream, HttpLayer, HttpStream, SendHttp

from .helpers import create_task
from .proxy_server import handler_of

with contextlib.suppress(ImportError):  # names of its own, which a later one may change
    from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
    from mitmproxy.proxy.layers.http._events import (
        ErrorCode,
        RequestProtocolError,
        ResponseData,
        ResponseEndOfMessage,
        ResponseHeaders,
        ResponseProtocolError,
    )
    from mitmproxy.proxy.layers.http._http1 import Http1Server
    from mitmproxy.proxy.layers.http._http2 import Http2Server

_LOOK = 0.01
"""Seconds between looks whether a client has taken what is under way."""
_SECOND = 1.0
"""Seconds between looks whether a client still wants what its provider has not sent."""
_PATIENCE = 60.0
"""Seconds after which a client that takes nothing will not take any more."""
_OVER = "the answer is complete"

type Commands = layer.CommandGenerator[None]


class _Woken:
    """Does one thing when it is woken. Of a layer it has what `HttpLayer` calls.

    A layer and its context would refer to each other: with thousands of silent streams
    there would be so many that Python's collector halts all streams each second.
    """

    def __init__(self, act: Callable[[], Commands]) -> None:
        self._act = act

    def handle_event(self, _: events.Event) -> Commands:
        return self._act()


class ClientStream:
    """The client's side of a flow: its stream, and the connection that carries it.

    Args:
        handler: mitmproxy's handler of the client.
        path: The HTTP layers down to the stream, each with its stream. There are two
            where the client used CONNECT: its tunnel is a stream of the first.
    """

    def __init__(
        self,
        handler: server.ConnectionHandler,
        path: Sequence[tuple[HttpLayer, HttpStream]],
    ) -> None:
        self._handler = handler
        self._tunnels = path[:-1]
        self._http, self._stream = path[-1]
        self._id = self._stream.stream_id
        self._client = self._stream.context.client

    @classmethod
    def of(
        cls, asked: http.HTTPFlow, handler: server.ConnectionHandler | None = None
    ) -> Self | None:
        """Return the stream of a flow; None if it or its client is gone."""
        handler = handler or handler_of(asked.client_conn)
        path = handler and _path(handler.layer.context.layers, asked)
        return cls(handler, path) if handler and path else None

    @property
    def has_begun(self) -> bool:
        """Whether the headers of an answer have gone out."""
        return self._has_begun_early or not self._waits_for_answer

    @property
    def _waits_for_answer(self) -> bool:
        """Whether nothing of the provider's answer has gone out."""
        stream = self._stream
        return stream.server_state in (
            stream.state_uninitialized,
            stream.state_wait_for_response_headers,
            stream.state_consume_response_body,
        )

    @property
    def is_open(self) -> bool:
        """Whether the client can take anything for this flow."""
        side = self._http.connections[self._client]
        if isinstance(side, Http2Server):
            return self._client.connected and side.is_open_for_us(self._id)
        is_next = not isinstance(side, Http1Server) or side.stream_id == self._id
        return self._client.connected and is_next

    @property
    def has_left(self) -> bool:
        """Whether the client has given the stream up.

        mitmproxy blames each reset on the client; its layers know the sender.
        A stream that waits for a hook learns of it later, its client's connection at once.
        """
        stream = self._stream
        side = self._http.connections[self._client]
        is_known = self._id in getattr(side, "streams", (self._id,))
        return stream.client_state == stream.state_errored or not is_known

    @property
    def _has_begun_early(self) -> bool:
        return "start_response_stream" in vars(self._stream)

    async def begin_early(self, response: http.Response) -> bool:
        """Send the headers of a stream before its provider answers; tell whether it was possible.

        What the provider answers has to be streamed: its own headers are not sent.

        Args:
            response: The headers, of a body of unknown length.
        """
        stream = self._stream

        def is_due() -> bool:
            if self.has_begun or stream.flow.response is not None:
                return False
            replaced = vars(stream)
            replaced["start_response_stream"] = partial(_begin_silently, stream)
            replaced["send_response"] = partial(_end, stream.send_response)
            return True

        return await self._send(is_due, ResponseHeaders(self._id, response))

    async def send_early(self, data: bytes) -> bool:
        """Send *data* behind such headers, until its provider answers; tell whether it was possible."""
        stream = self._stream
        return await self._send(
            lambda: stream.flow.response is None, ResponseData(self._id, data)
        )

    async def send(self, make: Callable[[], bytes]) -> bool:
        """Send more of an answer that streams; tell whether it was possible.

        It is from the headers to the end: while nothing arrives, and while the hooks
        `response` and `error` are awaited.

        Args:
            make: Returns what is sent, called when nothing else of the stream can come
                between that and what follows; nothing if nothing is to be sent.
        """
        stream, was_possible = self._stream, False

        def act() -> Commands:
            nonlocal was_possible
            if not (
                self.is_open
                and stream.server_state == stream.state_stream_response_body
            ):
                return
            was_possible = True
            data = make()
            if data:  # an empty chunk is the end, by HTTP/1
                yield SendHttp(ResponseData(self._id, data), self._client)

        await self._wake(act)
        return was_possible

    async def end(self, conclude: Callable[[], tuple[bytes, bool]]) -> bool:
        """Send the rest of an answer that streams, and end it; tell whether it ended.

        If it breaks off (the hook `error` is awaited), its client then does not see that.
        Else its provider has not ended it: that side is dropped, since mitmproxy would
        send the next request by a connection that still waits for the rest of an answer.

        Args:
            conclude: Returns what is sent, and whether that is the end; see `send`.
        """
        stream, has_ended = self._stream, False
        server = stream.context.server

        def act() -> Commands:
            nonlocal has_ended
            broke = stream.flow.error is not None
            is_paused = stream._paused is not None  # noqa: SLF001 - it has no other name
            if not (
                self.is_open
                and stream.server_state == stream.state_stream_response_body
                and is_paused == broke  # else its end has been received by now
            ):
                return
            data, is_over = conclude()
            if data:
                yield SendHttp(ResponseData(self._id, data), self._client)
            has_ended = is_over and stream.client_state == stream.state_done
            if has_ended and broke:
                stream.client_state = stream.state_errored  # so it gets no error
                yield SendHttp(ResponseEndOfMessage(self._id), self._client)
            elif has_ended:
                if server in self._http.connections:
                    dropped = RequestProtocolError(self._id, _OVER, ErrorCode.CANCEL)
                    yield SendHttp(dropped, server)
                yield ReceiveHttp(ResponseEndOfMessage(self._id))
                # It waits for the hook `response`: nothing else is to reach it.
                yield DropStream(self._id)

        await self._wake(act)
        return has_ended

    @property
    def is_behind(self) -> bool:
        """Whether the client has not taken yet what has been sent."""
        transport = self._handler.transports.get(self._client)
        writer = transport and transport.writer
        if (
            isinstance(writer, asyncio.StreamWriter)
            and writer.transport.get_write_buffer_size()
        ):
            return True
        side = self._http.connections[self._client]
        if isinstance(side, Http2Server):
            return bool(side.h2_conn.stream_buffers.get(self._id))
        return False

    async def body(self, most: int) -> bytes | None:
        """Wait for the body of an answer while the hook of its headers is awaited.

        mitmproxy keeps what arrives meanwhile for later (mitmproxy/proxy/layer.py).

        Args:
            most: Bytes of a body that is waited for.

        Returns:
            None if it is larger, or does not come to its end, or the client leaves.
        """
        queue = self._stream._paused_event_queue  # noqa: SLF001 - it has no other name
        while self.is_open:
            data = b"".join(
                each.data for each in queue if isinstance(each, ResponseData)
            )
            if len(data) > most or any(map(_is_error, queue)):
                return None
            if any(isinstance(each, ResponseEndOfMessage) for each in queue):
                return data
            await asyncio.sleep(_LOOK)
        return None

    def forget_body(self) -> None:
        """Forget what `body` has returned: another one is to be received in its place."""
        queue = self._stream._paused_event_queue  # noqa: SLF001
        errors = [*filter(_is_error, queue)]
        queue.clear()
        queue.extend(errors)

    async def receive(self, parts: AsyncIterable[bytes]) -> None:
        """Let mitmproxy receive *parts*, as they arrive, as the body of an answer.

        Its headers are those of the flow's response, whose hook may be awaited still. If
        *parts* raise anything, the answer breaks off.
        """
        stream = self._stream
        while (  # noqa: ASYNC110 - mitmproxy has no event for it
            stream.server_state == stream.state_wait_for_response_headers
        ):
            await asyncio.sleep(_LOOK)
        await self._wake(self._begin)
        end: HttpEvent = ResponseEndOfMessage(self._id)
        try:
            async for part in _while(lambda: self.is_open, parts):
                if part:
                    await self._wake(_receiving(ResponseData(self._id, part)))
                while self.is_behind and self.is_open:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(_LOOK)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client shall see it
            code = ErrorCode.GENERIC_SERVER_ERROR
            end = ResponseProtocolError(self._id, str(error), code)
        if self.is_open:
            await self._wake(_receiving(end))

    def _begin(self) -> Commands:
        """Send the headers of an answer that streams, if mitmproxy has not.

        It does not where the first answer had no body.
        """
        stream = self._stream
        response = stream.flow.response
        is_collected = stream.server_state == stream.state_consume_response_body
        if is_collected and response is not None and response.stream:
            yield from stream.start_response_stream()

    async def answer(self, response: http.Response, *, ends: bool = True) -> bool:
        """Answer in the hook `error`, instead of mitmproxy; tell whether it was possible.

        It is not where the provider's headers have gone out, or the client has left.

        Args:
            response: The complete answer. After `begin_early`, its body alone is sent.
            ends: Whether this is the last of the flow. It is not where mitmproxy reports
                the error to the client in any case: by HTTP/1 it then closes the
                connection.
        """
        stream, asked = self._stream, self._stream.flow.request
        may_end = ends or asked.is_http2 or asked.is_http3
        if not may_end:
            response.headers["connection"] = "close"
        is_early = self._has_begun_early and self._waits_for_answer
        out: list[HttpEvent] = [] if is_early else [ResponseHeaders(self._id, response)]
        if response.raw_content and asked.method != "HEAD":
            out.append(ResponseData(self._id, response.raw_content))
        if may_end:
            out.append(ResponseEndOfMessage(self._id))

        def is_due() -> bool:
            if self.has_begun and not is_early:
                return False
            if ends:
                stream.client_state = stream.state_errored
            for each in (self._http.context.server, *self._http.connections):
                if not each.connected:
                    each.error = None  # else mitmproxy would never reconnect
            return True

        return await self._send(is_due, *out)

    async def _send(self, is_due: Callable[[], bool], *out: "HttpEvent") -> bool:
        """Send *out* to the client if that is due when its turn comes."""
        sent = False

        def act() -> Commands:
            nonlocal sent
            if self.is_open and is_due():
                sent = True
                for each in out:
                    yield SendHttp(each, self._client)

        await self._wake(act)
        return sent

    def reset(self) -> None:
        """Break the answer off on both sides, right after what is under way.

        It says what a reset by the client would say. If the flow was killed, mitmproxy
        then breaks off the client's side, too.
        """
        killed = flow.Error.KILLED_MESSAGE
        reset = RequestProtocolError(self._id, killed, ErrorCode.CANCEL)
        # mitmproxy keeps a killed flow as long as its client's connection.
        both = ReceiveHttp(reset), DropStream(self._id)

        def act() -> Commands:
            yield from both

        # Later, since mitmproxy is in the middle of an event of this stream.
        create_task(
            self._wake(act),
            name="reset of a stream",
            keep_ref=True,
            client=self._client.peername,
        )

    async def drain(self) -> None:
        """Wait until the client has taken what a reset by HTTP/2 would throw away."""
        side = self._http.connections[self._client]
        if not isinstance(side, Http2Server):
            return  # what is written there is sent before the connection closes
        buffers = side.h2_conn.stream_buffers
        size, until = 0, time.monotonic() + _PATIENCE
        while self.is_open and buffers.get(self._id) and time.monotonic() < until:
            before, size = size, sum(len(each.data) for each in buffers[self._id])
            if size != before:
                until = time.monotonic() + _PATIENCE
            await asyncio.sleep(_LOOK)

    async def _wake(self, act: Callable[[], Commands]) -> None:
        wakeup = commands.RequestWakeup(0)
        for outer, tunnel in self._tunnels:
            outer.command_sources[wakeup] = tunnel
        self._http.command_sources[wakeup] = cast(layer.Layer, _Woken(act))
        await self._handler.server_event(events.Wakeup(wakeup))


def _begin_silently(stream: HttpStream) -> Commands:
    """Begin a stream whose headers have been sent: `HttpStream.start_response_stream`."""
    stream.server_state = stream.state_stream_response_body
    yield from ()


def _end(
    send_response: Callable[[bool], Commands],
    already_streamed: bool = False,
) -> Commands:
    """End a stream whose headers have been sent: `HttpStream.send_response`."""
    del already_streamed  # not so one without a body
    return send_response(True)


async def _while(
    is_wanted: Callable[[], bool], parts: AsyncIterable[bytes]
) -> AsyncIterator[bytes]:
    """Yield *parts* for as long as they are wanted, also while none arrives."""
    rest = aiter(parts)
    while is_wanted():
        arriving = asyncio.ensure_future(anext(rest))
        try:
            while not (await asyncio.wait({arriving}, timeout=_SECOND))[0]:
                if not is_wanted():
                    return
        finally:
            arriving.cancel()  # also if the caller is cancelled
        try:
            part = arriving.result()
        except StopAsyncIteration:
            return
        yield part


def _receiving(event: "HttpEvent") -> Callable[[], Commands]:
    """An action that lets mitmproxy receive *event*."""

    def act() -> Commands:
        yield ReceiveHttp(event)

    return act


def _is_error(event: events.Event) -> bool:
    return isinstance(event, (RequestProtocolError, ResponseProtocolError))


def slow_down(
    client: connection.Client, at_end: Callable[[Callable[[], None]], None]
) -> None:
    """Let nothing more be read from *client* and its servers for this turn of streams.

    mitmproxy takes this lock after each read, to wait for who is slow to take what it
    writes (mitmproxy/proxy/server.py, `drain_writers`); so it can be ended meanwhile.

    Args:
        client: The client.
        at_end: Has what it is given called at the end of the turn.
    """
    handler = handler_of(client)
    lock: asyncio.Lock | None = getattr(handler, "_drain_lock", None)
    if lock is None or lock.locked():  # a later mitmproxy may not have it
        return
    acquiring = lock.acquire()
    try:
        acquiring.send(None)  # a task for it would take ten times as long
    except StopIteration:
        at_end(lock.release)
        return
    acquiring.close()  # somebody else is about to get it

    async def hold() -> None:
        await lock.acquire()
        at_end(lock.release)

    create_task(
        hold(), name="turn of other streams", keep_ref=True, client=client.peername
    )


def close(client: connection.Client, ended: connection.Connection) -> None:
    """Forget a connection of *client* that has ended, and close it if it is open.

    mitmproxy ends one by cancelling its task (mitmproxy/proxy/server.py). If that waits
    for its turn to report what it has read, the task ends there, and the socket stays
    open. And if a connection fails, mitmproxy crashes when it is to be reopened.
    """
    handler = handler_of(client)
    transport = handler.transports.pop(ended, None) if handler else None
    if transport and transport.writer:
        transport.writer.close()


def _path(
    layers: Sequence[layer.Layer], asked: http.HTTPFlow
) -> list[tuple[HttpLayer, HttpStream]]:
    """Return the HTTP layers down to the stream of a flow, each with its stream."""
    for outer in layers:
        if isinstance(outer, HttpLayer):
            for stream in outer.streams.values():
                if getattr(stream, "flow", None) is asked:
                    return [(outer, stream)]
                inside = stream.context.layers
                below = _path(inside[inside.index(stream) + 1 :], asked)
                if below:
                    return [(outer, stream), *below]
    return []
