"""A second request for a flow, sent as mitmproxy sent the first, and its answer.

mitmproxy can replay a flow (addons/clientplayback.py), but that runs all hooks of flows
for it and shows it. So only what lies below is used: the layers that speak HTTP, TLS and
CONNECT, and the handler of connections. Its hooks of connections run: by them mitmproxy's
options decide which certificates are trusted and shown, and which password a proxy gets.

The answer takes the place of the first one: collected, or as it arrives if it is a stream
of events and its caller can send that.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol, Self

from mitmproxy import connection, ctx, http
from mitmproxy.net.http.validate import validate_headers
from mitmproxy.proxy import commands, events, layer, server, tunnel
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import tls
from mitmproxy.proxy.layers.http._base import HttpConnection, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    HttpEvent,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client
from mitmproxy.proxy.layers.http._http2 import Http2Client
from mitmproxy.proxy.layers.http._upstream_proxy import HttpUpstreamProxy
from mitmproxy.proxy.mode_specs import UpstreamMode

from ..chat.endpoint import is_event_stream
from ..chat.errors.errors import phrase
from ..text.network_address import address
from .certificate_proof import has_proven, is_proven
from .connection_errors import client_left, failing, reason_of
from .helpers import parse_size

_CONNECT = 30  # seconds
_HEAD = 64 * 1024  # bytes
_BODY = 64 * 1024 * 1024  # bytes
_QUEUED = 64  # parts of an answer
_LOOK = 0.01  # seconds
_FINAL = 200  # a status below it is followed by another one
_ID = 1  # of the only stream

_HOPS = {
    "connection", "content-length", "keep-alive", "proxy-authenticate",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that are the connection's, beside those that `connection` names."""
# Those of a request that another body, or an answer that is read at once, has of its own.
_OWN = {"accept-encoding", "content-encoding", "expect"}

type Commands = layer.CommandGenerator[None]


class UpstreamError(Exception):
    """There was no complete reply; says why."""


class ArrivingBody(Protocol):
    """The rest of a body, as it arrives: see `LiveBody`."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what arrives."""

    async def close(self) -> None:
        """Close the connection that it arrives by."""


@dataclass
class Reply:
    """An HTTP response, its body not decoded."""

    status: int = 0
    reason: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    live_body: ArrivingBody | None = None
    """Its body as it arrives, if that is not collected: it has to be read, or closed."""


def is_gone(flow: http.HTTPFlow) -> bool:
    """Tell whether the client has left; never of a replayed flow, which has none."""
    return flow.is_replay is None and client_left(flow)


def request_with(flow: http.HTTPFlow, body: bytes) -> http.Request:
    """Return the request of *flow* with another body, for another connection."""
    request = flow.request.copy()
    given = [(name.lower(), value) for name, value in request.headers.items(multi=True)]
    dropped = _hops_in(given) | _OWN
    if not _asks_proxy(flow):
        dropped |= {"proxy-authorization"}
    request.headers = http.Headers(
        [
            (name, value)
            for name, value in request.headers.fields
            if name.decode("latin-1").lower() not in dropped
        ]
    )
    request.headers["accept-encoding"] = "identity"
    request.trailers = None
    request.content = body
    return request


def replace_response(response: http.Response, reply: Reply) -> None:
    """Put *reply* in the place of *response*."""
    given = [(name.lower(), value) for name, value in reply.headers]
    dropped = _hops_in(given)
    response.status_code = reply.status
    response.reason = reply.reason or phrase(reply.status)
    response.headers = http.Headers(
        [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in given
            if name not in dropped
        ]
    )
    response.trailers = None
    # That of a body which has not arrived yet is framed anew, like any that is repaired.
    response.headers["content-length"] = str(len(reply.body))
    response.data.content = reply.body


def _hops_in(headers: list[tuple[str, str]]) -> set[str]:
    """Return the names of those of *headers*, in lower case, that are a connection's."""
    named = ",".join(value for name, value in headers if name == "connection").lower()
    return _HOPS | {name.strip() for name in named.split(",")}


def _asks_proxy(flow: http.HTTPFlow) -> bool:
    """Tell whether it is an upstream proxy that reads the request of *flow*."""
    is_upstream = isinstance(flow.client_conn.proxy_mode, UpstreamMode)
    via = flow.server_conn.via
    return is_upstream and via is not None and flow.request.scheme == "http"


async def send(
    flow: http.HTTPFlow, request: http.Request, silence: float, *, live: bool = False
) -> Reply:
    """Send *request* and return its reply. No redirect is followed.

    It goes where its own host is, by the same proxy and in the same version of HTTP as the
    request of *flow* did. If a server proved its name then, this one has to, too.

    Args:
        flow: The flow that it is sent for.
        request: The request.
        silence: Seconds without any byte of the answer's body after which it is given up.
        live: Whether a stream of events is returned as it begins, see `Reply.live_body`.

    Raises:
        UpstreamError: There is no complete reply.
    """
    place = f"{request.scheme}://{address(request.host, request.port)}"
    try:
        async with AsyncExitStack() as stack:
            handler = await stack.enter_async_context(_Handler(flow, request))
            async with asyncio.timeout(_CONNECT) as patience:
                await handler.server_event(events.Start())
                reply = await _reply(handler.stream, patience, silence, live=live)
            if live and _is_live(reply):
                reply.live_body = LiveBody(
                    stack.pop_all(), handler.stream, place, silence
                )
            return reply
    except TimeoutError:
        raise UpstreamError(f"{place}: it took too long to answer") from None
    except _FailedError as error:
        asked = failing(place, error.reported, flow.server_conn)
        raise UpstreamError(f"{asked}: {error}") from None


async def _reply(
    stream: "_Stream", patience: asyncio.Timeout, silence: float, *, live: bool
) -> Reply:
    """The reply on *stream*, if it begins before *patience* ends.

    Of a *live* stream of events, that is the head.
    """
    reply, body = Reply(), bytearray()
    most = parse_size(ctx.options.body_size_limit) or _BODY
    loop = asyncio.get_running_loop()
    while True:
        event = await stream.received.get()
        if event is None or isinstance(event, ResponseData):
            patience.reschedule(loop.time() + silence)
        if isinstance(event, ResponseHeaders):
            reply = _head(event.response)
            if live and _is_live(reply):
                return reply
        elif isinstance(event, ResponseData):
            body += event.data
            if len(body) > min(most, _BODY):
                raise _FailedError("its answer is too large")
        elif isinstance(event, ResponseProtocolError):
            raise _FailedError(reason_of(event.message), event.message)
        elif isinstance(event, ResponseEndOfMessage) and reply.status >= _FINAL:
            reply.body = bytes(body)
            return reply


def _is_live(reply: Reply) -> bool:
    """Tell whether *reply* is a good one that comes event by event."""
    kinds = (value for name, value in reply.headers if name.lower() == "content-type")
    is_good = _FINAL <= reply.status < HTTPStatus.MULTIPLE_CHOICES
    return is_good and any(map(is_event_stream, kinds))


class LiveBody:
    """The body of an answer as it arrives, once; and the connection that it comes by.

    Args:
        connection: Closes the connection.
        stream: Receives the body.
        place: Names the server in errors.
        silence: Seconds without any byte after which it is given up.
    """

    def __init__(
        self, connection: AsyncExitStack, stream: "_Stream", place: str, silence: float
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._place = place
        self._silence = silence

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what arrives.

        Raises:
            UpstreamError: It is not complete.
        """
        while True:
            try:
                async with asyncio.timeout(self._silence):
                    event = await self._stream.received.get()
            except TimeoutError:
                raise UpstreamError(f"{self._place}: it fell silent") from None
            if isinstance(event, ResponseData):
                yield event.data
            elif isinstance(event, ResponseProtocolError):
                raise UpstreamError(f"{self._place}: {reason_of(event.message)}")
            elif isinstance(event, ResponseEndOfMessage):
                return

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.aclose()


async def drop(reply: object) -> None:
    """Close the connection of an unused *reply*, if there is one."""
    if isinstance(reply, Reply) and reply.live_body is not None:
        await reply.live_body.close()


def _head(response: http.Response) -> Reply:
    try:
        if ctx.options.validate_inbound_headers:
            validate_headers(response)
    except ValueError:  # it quotes them
        raise _FailedError(reason_of("invalid HTTP")) from None
    fields = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in response.headers.fields
    ]
    return Reply(response.status_code, response.reason, fields)


class _FailedError(Exception):
    """Why there is no reply, in words for a client.

    Attributes:
        reported: What mitmproxy says of it, if it does.
    """

    def __init__(self, reason: str, reported: str = "") -> None:
        super().__init__(reason)
        self.reported = reported


class _Http1(Http1Client):
    """Reads on after an answer that another one follows: mitmproxy takes it for the last.

    https://www.rfc-editor.org/rfc/rfc9110#section-15.2
    """

    def mark_done(self, *, request: bool = False, response: bool = False) -> Commands:
        if response and self.response and self.response.status_code < _FINAL:
            self.response = None
            self.state = self.read_headers
            yield from self.state(events.DataReceived(self.conn, b""))
        else:
            yield from super().mark_done(request=request, response=response)


class _Stream(layer.Layer):
    """The innermost layer: connects, sends one request, and receives the answer.

    Attributes:
        received: What has been received; None for the connection.
    """

    def __init__(
        self, context: Context, request: http.Request, *, proves: bool
    ) -> None:
        super().__init__(context)
        self.received: asyncio.Queue[HttpEvent | None] = asyncio.Queue()
        self._request = request
        self._proves = proves
        self._http: HttpConnection | None = None
        self._unread: int | None = 0  # bytes of a head that is not complete

    def fail(self, message: str) -> None:
        """Let the answer end with an error, as mitmproxy reports it."""
        code = ErrorCode.GENERIC_SERVER_ERROR
        self.received.put_nowait(ResponseProtocolError(_ID, message, code))

    def _handle_event(self, event: events.Event) -> Commands:
        if isinstance(event, events.Start):
            error = yield commands.OpenConnection(self.context.server)
            if error:
                self.fail(error)
            else:
                self.received.put_nowait(None)
                yield from self._start(event)
        elif self._http is not None:
            yield from self._pass(self._http, event)

    def _start(self, event: events.Start) -> Commands:
        there, request = self.context.server, self._request
        if self._proves and not is_proven(there, there.sni or ""):
            self.fail("Certificate verify failed: it was not verified")
            return
        is_http2 = there.alpn == b"h2"
        made = self._http = (Http2Client if is_http2 else _Http1)(self.context)
        yield from self._pass(made, event)
        body = request.raw_content
        yield from self._pass(made, RequestHeaders(_ID, request, end_stream=not body))
        if body:
            yield from self._pass(made, RequestData(_ID, body))
        yield from self._pass(made, RequestEndOfMessage(_ID))

    def _pass(self, below: HttpConnection, event: events.Event) -> Commands:
        """Let *below*, which speaks HTTP, handle *event*."""
        for command in below.handle_event(event):
            if isinstance(command, ReceiveHttp):
                self._receive(command.event)
            else:
                yield command
        if self._unread is not None and isinstance(event, events.DataReceived):
            self._unread += len(event.data)
            if self._unread > _HEAD:
                self.fail("HTTP protocol error")

    def _receive(self, event: HttpEvent) -> None:
        if isinstance(event, ResponseHeaders) and event.response.status_code >= _FINAL:
            self._unread = None
        self.received.put_nowait(event)


class _Handler(server.ConnectionHandler):
    """The connection of one request, which is closed at the end of its context."""

    def __init__(self, flow: http.HTTPFlow, request: http.Request) -> None:
        client, first = flow.client_conn, flow.server_conn
        super().__init__(Context(client, ctx.options))
        context = Context(client, ctx.options)
        place = request.host, request.port
        context.server = connection.Server(address=place, via=first.via)
        stack = tunnel.LayerStack()
        if first.via:
            sends_connect = not _asks_proxy(flow) or request.scheme == "https"
            stack /= HttpUpstreamProxy.make(context, sends_connect)
        if request.scheme == "https":
            is_same = place == (flow.request.host, flow.request.port)
            context.server.sni = (is_same and first.sni) or request.host
            is_http2 = first.alpn == b"h2"
            context.server.alpn_offers = tls.HTTP_ALPNS if is_http2 else tls.HTTP1_ALPNS
            stack /= tls.ServerTLSLayer(context)
        self.stream = _Stream(context, request, proves=has_proven(first))
        stack /= self.stream
        self.layer = stack[0]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        opened = [*self.transports.values()]
        tasks = [each.handler for each in opened if each.handler]
        for task in (*tasks, *self.wakeup_timer):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for each in opened:
            # A task that ends while it reports what it has read leaves its socket open.
            if isinstance(each.writer, asyncio.StreamWriter):
                each.writer.transport.abort()

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Let mitmproxy's addons prepare the connection."""
        await ctx.master.addons.handle_lifecycle(hook)

    async def drain_writers(self) -> None:
        """Read no more while much has not been taken yet: the client is slow, say."""
        await super().drain_writers()  # type: ignore[no-untyped-call]
        while self.stream.received.qsize() > _QUEUED:  # noqa: ASYNC110 - a queue has none
            await asyncio.sleep(_LOOK)

    async def server_event(self, event: events.Event) -> None:
        """Handle *event*; a reset is not the end of an answer."""
        if isinstance(event, events.ConnectionClosed):
            reader = self.transports[event.connection].reader
            if isinstance(reader, asyncio.StreamReader) and reader.exception():
                self.stream.fail("connection closed")
        await super().server_event(event)

    def log(
        self, message: str, level: int = logging.INFO, exc_info: object = None
    ) -> None:
        """Log nothing: it may quote what was sent. A crash of mitmproxy is the end."""
        if exc_info:
            self.stream.fail("HTTP protocol error")
