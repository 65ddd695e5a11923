"""Requests that wait until their host takes more, and streams that begin meanwhile.

It is the last thing before a request is sent. `normalize_pace` says how many a host takes,
and `normalize_begin` when a stream begins whose provider has sent nothing, not even headers.
A client then knows that its request is taken, and waits on. The status is 200 whatever the
provider says later: an error arrives as an event.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from mitmproxy import http

from ...mitm.helpers import create_task
from ...mitm.second_request import is_gone
from ...routing.gate import refusal
from ...routing.pace import Queues, Slot, pause_of
from ..delivery.answer_streams import AnswerStreams
from ..message.response_headers import frame
from ..request.adapted_request import body_of, credential_of
from ..state.exchange import Exchange
from ..state.settings import Settings

_RELOADED = "The proxy was reloaded while this request waited; send it again."

type Grant = Callable[[http.HTTPFlow, http.Response], None]
"""Lets a web page read a response, if its origin is allowed."""


@dataclass(slots=True)
class WaitingRequests:
    """Has requests wait, each in the queue of its host and credential.

    Attributes:
        streams: Find the client of an exchange.
        grant: Lets a web page read what is sent early.
        queues: Where they wait.
        is_over: Whether this addon serves no more: it was reloaded.
    """

    streams: AnswerStreams
    grant: Grant
    queues: Queues = field(default_factory=Queues)
    is_over: bool = False

    def wait(self, exchange: Exchange, settings: Settings) -> Awaitable[None] | None:
        """What has to be awaited before a request is sent; None if it is sent at once.

        One whose answer is only observed is never held back.

        Args:
            exchange: The exchange, whose request is ready.
            settings: What counts for it.
        """
        request = exchange.flow.request
        queue = None
        is_paced = request.method == "POST" and not settings.observe
        if self.queues.paces and is_paced and exchange.flow.live:
            credential = credential_of(exchange.flow)
            queue = self.queues.queue_of(request.host, request.port, credential)
        if queue is None:
            self._begin_later(exchange, settings)
            return None
        slot = exchange.slot = queue.enter(lambda: _is_over(exchange.flow))
        if slot.ready.done():
            self._begin_later(exchange, settings)
            return None
        return self._wait(exchange, slot, settings)

    async def _wait(self, exchange: Exchange, slot: Slot, settings: Settings) -> None:
        flow, seconds = exchange.flow, settings.keepalive
        begins = bool(seconds) and _may_begin(exchange)
        while not slot.ready.done():
            await asyncio.wait({slot.ready}, timeout=seconds if begins else None)
            if not slot.ready.done():
                await self._show_life(exchange)
        if _is_over(flow):
            slot.end()
            if flow.killable:
                flow.kill()  # nothing is sent for it
        elif self.is_over:
            made = refusal(503, _RELOADED, None)
            if exchange.has_begun and (client := self.streams.client_of(exchange)):
                event = b"data: " + (made.raw_content or b"") + b"\n\n"
                await client.send_early(event)  # of a response only its end is sent
            flow.response = made
        else:
            self._begin_later(exchange, settings)

    def _begin_later(self, exchange: Exchange, settings: Settings) -> None:
        """Begin a stream if its provider does not for so long."""
        seconds = settings.begin
        if seconds and _may_begin(exchange):
            create_task(
                self._keep_waiting(exchange, seconds, settings.keepalive),
                name="stream whose provider is silent",
                keep_ref=True,
                client=exchange.flow.client_conn.peername,
            )

    async def _keep_waiting(
        self, exchange: Exchange, seconds: float, keepalive: float
    ) -> None:
        flow = exchange.flow
        await asyncio.sleep(seconds)
        while exchange.is_open and flow.response is None and flow.error is None:
            await self._show_life(exchange)
            if not keepalive:
                return
            await asyncio.sleep(keepalive)

    async def _show_life(self, exchange: Exchange) -> None:
        """Begin a stream that may begin, or send a newline if it has begun. Never raises."""
        client = self.streams.client_of(exchange)
        if client is None:
            return
        try:
            if exchange.has_begun:
                await client.send_early(b"\n")
            else:
                exchange.has_begun = await client.begin_early(self._headers(exchange))
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self.streams.cannot_send()

    def _headers(self, exchange: Exchange) -> http.Response:
        flow = exchange.flow
        made = http.Response.make(200, b"", {"content-type": "text/event-stream"})
        made.http_version = flow.request.http_version
        frame(flow.request, made)
        self.grant(flow, made)
        return made

    def answered(self, exchange: Exchange) -> None:
        """Note that the answer of an exchange has begun, and what it says of the next."""
        slot, response = exchange.slot, exchange.flow.response
        if slot is not None and response is not None:
            slot.answered(pause_of(response.status_code, response.headers.items()))

    def done(self) -> None:
        """Let go what waits, at a reload or when mitmproxy ends: it is not sent."""
        self.is_over = True
        self.queues.clear()


def _is_over(flow: http.HTTPFlow) -> bool:
    """Tell whether nobody waits for an answer: the client has left, or a user killed it."""
    return flow.error is not None or is_gone(flow)


def _may_begin(exchange: Exchange) -> bool:
    """Tell whether the answer of an exchange, not sent yet, is a stream that may begin."""
    body = body_of(exchange.flow.request) if exchange.is_chat else None
    return body is not None and body.get("stream") is True
