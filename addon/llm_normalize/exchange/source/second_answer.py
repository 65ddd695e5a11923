"""A second answer that replaces the first one, if the request asked for a stream.

The headers of the first answer have arrived, but have not been sent: mitmproxy awaits their
hook. So the second answer can be sent as it arrives, with its own headers. An answer that
was requested as one body does not need this: `answer_lifecycle` replaces it in the hook of
the complete answer.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

from mitmproxy import http

from ...chat.errors.errors import kind_of, phrase, wrapped
from ...mitm.client_stream import ClientStream
from ...mitm.helpers import create_task
from ...mitm.second_request import ArrivingBody, Reply, replace_response
from ...wire.content_encoding import decoder_for
from ...wire.json_text import dumps
from ..delivery.answer_streams import AnswerStreams
from ..delivery.buffered_answer import repair
from ..delivery.stream_or_buffer import AnswerPath, path_of
from ..message.response_headers import frame
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from . import busy_provider
from .refused_request import STATUSES, Retry

logger = logging.getLogger(__name__)

_REPLACED = (*STATUSES, *busy_provider.STATUSES)
"""Statuses of first answers after which another request may be sent."""

type FindRetry = Callable[[Exchange, RunningAnswer], Retry | None]
"""Returns a function that replaces a complete answer, if it should be replaced."""


class UnusableReplacementError(Exception):
    """The second answer cannot replace the first."""


@dataclass(slots=True)
class SecondAnswer:
    """The replacement of one first answer; see `of`.

    Attributes:
        exchange: The exchange.
        running: Its first answer, of which nothing has been sent.
        client: Where the answer is sent.
        streams: Begins its stream.
    """

    exchange: Exchange
    running: RunningAnswer
    client: ClientStream
    streams: AnswerStreams

    @classmethod
    def of(cls, exchange: Exchange, streams: AnswerStreams) -> Self | None:
        """Return a replacement for an answer whose headers have arrived.

        Returns:
            None if the answer stays: its status does not call for another request, it is
            only observed, or this mitmproxy version cannot replace it.
        """
        running, response = exchange.running, exchange.flow.response
        if running is None or not _may_be_replaced(running, response):
            return None
        client = streams.client_of(exchange)
        if client is None:
            return None
        return cls(exchange, running, client, streams)

    async def replace_first(self, find_retry: FindRetry) -> None:
        """Replace the first answer, if necessary. Never raises.

        Args:
            find_retry: Called when the first answer is complete.
        """
        running, response = self.running, self.exchange.response
        # Whatever becomes of the addon while the body arrives: what waits has a record.
        waited, running.pending = running.pending, True
        first = await self.streams.first_body(self.client)
        if first is None:
            running.pending = waited
            if self.exchange.has_begun:
                self._begin_stream()
            return  # mitmproxy collects it
        response.data.content = first
        running.is_last = running.is_live = True
        has_arrived = False
        try:
            retry = find_retry(self.exchange, running)
            if retry is None and self.exchange.has_begun:
                retry = _as_it_is
            if retry is not None:
                arrival = asyncio.ensure_future(retry(self.exchange.flow))
                if await self._takes_long(response, arrival):
                    self._begin_before(arrival)
                    return
                has_arrived = await self._has_arrived(arrival)
        except UnusableReplacementError:
            pass
        except Exception:
            logger.exception("%s: the first answer stays", running.label)
        finally:
            running.pending = False
        if not has_arrived:
            response.data.content = None  # mitmproxy has it
        elif not running.is_over:
            self._begin()

    async def _takes_long(
        self, response: http.Response, arrival: asyncio.Future[bool]
    ) -> bool:
        """Tell whether the second answer takes so long that the stream begins before it."""
        if self.exchange.has_begun:
            return True
        # One that is sent again may have to wait for its turn, too.
        waits = busy_provider.is_busy(response) or self.running.slot is not None
        if not waits and response.status_code != HTTPStatus.ACCEPTED:
            return False
        await asyncio.wait({arrival}, timeout=self.running.settings.keepalive or None)
        return not arrival.done()

    async def _has_arrived(self, arrival: asyncio.Future[bool]) -> bool:
        """Wait for the second answer; tell whether there is one, and still a client."""
        exchange, running = self.exchange, self.running
        if await arrival:
            response = self.exchange.response
            running.received_status = response.status_code
            return True
        if exchange.running is running:
            exchange.running = None
        running.close_without_client()
        running.on_end()
        return False

    def _begin(self) -> None:
        """Let mitmproxy receive the second answer instead of the first."""
        exchange, running = self.exchange, self.running
        response = exchange.response
        is_reloaded = exchange.running is not running  # no hook is called for it
        path = path_of(exchange, running)
        if path is AnswerPath.STREAMED:
            self.streams.begin(running)
            if is_reloaded:
                running.end_without_hooks()
        elif path is AnswerPath.PASSED:
            frame(self.exchange.flow.request, response)
            response.stream = response.stream or True
        if is_reloaded and path is not AnswerPath.STREAMED:
            figures = repair(exchange, running)
            running.complete(response.status_code, figures)
            running.on_end()
        parts = running.live_body or parts_of(response.raw_content or b"")
        response.data.content = None
        self._receive(parts)

    def _begin_before(self, arrival: asyncio.Future[bool]) -> None:
        """Begin a stream whose provider is still busy, so that the client is kept alive.

        The final answer then cannot have a status or an encoding of its own.
        """
        running = self.running
        first = running.received

        async def parts() -> AsyncIterator[bytes]:
            if not await arrival:
                return
            running.received_status = first.status_code
            decoder = decoder_for(first.headers.get("content-encoding", ""))
            if decoder is None:
                raise ValueError("its encoding is not supported")
            body = first.raw_content or _body_of_status(first.status_code)
            native = running.native
            if native is not None and first.status_code >= HTTPStatus.BAD_REQUEST:
                error = b"".join(decoder.feed(body))
                asked, fixes = running.asked, running.settings.fixes
                yield native.body(error, first.status_code, asked, fixes).after[0]
                return
            async for part in running.live_body or parts_of(body):
                for decoded in decoder.feed(part):
                    yield decoded

        self._begin_stream("content-encoding")
        self._receive(parts())

    def _begin_stream(self, *dropped: str) -> None:
        """Begin a stream in the place of the first answer, without its *dropped* headers."""
        running = self.running
        first = running.behind = running.received
        begun = self.exchange.flow.response = first.copy()
        begun.data.content = None
        begun.status_code, begun.reason = int(HTTPStatus.OK), HTTPStatus.OK.phrase
        begun.headers["content-type"] = "text/event-stream"
        for name in ("retry-after", "retry-after-ms", *dropped):
            begun.headers.pop(name, None)
        self.streams.begin(running)
        if self.exchange.running is not running:  # the addon was reloaded
            running.end_without_hooks()

    def _receive(self, parts: AsyncIterable[bytes]) -> None:
        """Let mitmproxy receive *parts* as the body instead of the first one."""
        receive_instead(self.exchange.flow, self.client, parts, self.running.live_body)


def receive_instead(
    flow: http.HTTPFlow,
    client: ClientStream,
    parts: AsyncIterable[bytes],
    live_body: ArrivingBody | None,
) -> None:
    """Let mitmproxy receive another body instead of the first one.

    Args:
        flow: The flow.
        client: Where the answer is sent.
        parts: The body.
        live_body: What of it is still arriving, to be closed behind it.
    """
    client.forget_body()

    async def receive() -> None:
        try:
            await client.receive(parts)
        finally:
            if live_body is not None:
                await live_body.close()

    create_task(
        receive(),
        name="second answer of a provider",
        keep_ref=True,
        client=flow.client_conn.peername,
    )


def pass_on(flow: http.HTTPFlow, client: ClientStream, reply: Reply) -> None:
    """Send a second answer as it is.

    Args:
        flow: The flow.
        client: Where the answer is sent.
        reply: The answer.
    """
    response, live_body = flow.response, reply.live_body
    assert response is not None
    replace_response(response, reply)
    parts = live_body or parts_of(response.raw_content or b"")
    response.data.content = None
    frame(flow.request, response)
    response.stream = True
    receive_instead(flow, client, parts, live_body)


def _may_be_replaced(running: RunningAnswer, response: http.Response | None) -> bool:
    """Tell whether a requested stream's first answer, not sent yet, may be replaced."""
    if running.settings.observe or not running.asked.stream:
        return False
    if response is None or response.raw_content is not None:
        return False  # an addon made it: the body is complete
    return running.pending or response.status_code in _REPLACED


def _body_of_status(status: int) -> bytes:
    """The body of an error without one: what its status says, which is not sent."""
    if status < HTTPStatus.BAD_REQUEST:
        return b""
    return dumps(wrapped(phrase(status), kind_of(status), None, None))


async def _as_it_is(_: http.HTTPFlow) -> bool:
    """A retry that leaves the first answer."""
    return True


async def parts_of(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body that has arrived."""
    yield body
