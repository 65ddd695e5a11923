"""The streams of all answers: begun, slowed down by turns, and ended with what waits."""

import asyncio
import contextlib
import functools
import logging
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from mitmproxy import http

from ...mitm.client_stream import ClientStream
from ...mitm.helpers import create_task
from ...wire.content_encoding import decoder_for
from ...wire.header import header_in
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from ..stream.keepalive_clock import StreamClock, send_rest
from ..stream.stream_rewriter import Rewriter, Turn, handed_over

logger = logging.getLogger(__name__)

_MOST = 1024 * 1024
"""Bytes of a first answer that may be replaced."""


class AnswerStreams:
    """Begins the streams of answers, and sends what waits in those that break off."""

    def __init__(self) -> None:
        self._turn = Turn(_soon)
        # Made once, not with each stream.
        self._cannot_send = self.cannot_send
        self._can_send = True

    def begin(self, running: RunningAnswer) -> None:
        """Have an answer, whose headers are its flow's, repaired as it arrives."""
        flow, settings = running.flow, running.settings
        response = flow.response
        assert response is not None
        decoder = decoder_for(header_in(response.headers.fields, b"content-encoding"))
        assert decoder is not None
        rewriter = running.stream_through(decoder, self._turn)
        if settings.stored:
            rewriter.on_growth = running.show_growth
        rewriter.on_much = running.slow_down
        if not settings.observe:
            running.prepare_headers(response)
        response.stream = rewriter.read
        # What is read while the hook is awaited would all be handed over at once.
        rewriter.slow_down()
        running.status = response.status_code
        try:
            running.clock = StreamClock(
                flow, rewriter, settings.keepalive, self._cannot_send
            )
        except RuntimeError:  # there is no event loop: nobody waits
            running.clock = None

    def cannot_send(self) -> None:
        """Log once that this mitmproxy does not let an addon send: the error at hand."""
        if self._can_send:
            self._can_send = False
            logger.warning(
                "normalize: this mitmproxy does not let an addon send while nothing is "
                "received: a part of an answer may wait for the next event, and a silent "
                "stream gets no newline and no end (%r)",
                sys.exception(),
            )

    def client_of(self, exchange: Exchange) -> ClientStream | None:
        """Return the client's side of an exchange; None if it is gone."""
        try:
            return ClientStream.of(exchange.flow)
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self.cannot_send()
            return None

    async def first_body(self, client: ClientStream) -> bytes | None:
        """Wait for the body of an answer that may be replaced, see `ClientStream.body`."""
        try:
            return await client.body(_MOST)
        except Exception:  # noqa: BLE001 - as above
            self.cannot_send()
            return None

    def rest_of(
        self, exchange: Exchange
    ) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """The sender of a broken stream's rest, if any of it arrived."""
        rewriter = _rewriter_of(exchange)
        if rewriter is None or not (rewriter.holds or rewriter.events):
            return None
        return functools.partial(self._send_rest, exchange.flow, rewriter)

    def send_rests(self, exchanges: Iterable[Exchange]) -> None:
        """Send what waits in open streams: mitmproxy ends, and waits for nothing.

        Its tasks begin at once (mitmproxy/master.py, `set_eager_task_factory`).
        """
        for send in filter(None, map(self.rest_of, exchanges)):
            with contextlib.suppress(RuntimeError):  # there is no loop: nobody waits
                asyncio.get_running_loop()
                create_task(send(), name="what waits at the end", keep_ref=True)

    async def _send_rest(self, flow: http.HTTPFlow, rewriter: Rewriter) -> None:
        try:
            await send_rest(flow, rewriter)
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self.cannot_send()


def _rewriter_of(exchange: Exchange) -> Rewriter | None:
    """The rewriter of *exchange*'s stream; it may be of an addon since reloaded."""
    if exchange.running is not None:
        return exchange.running.rewriter
    response = exchange.flow.response
    found: Rewriter | None = handed_over(response and response.stream)
    return found


def _soon(act: Callable[[], None]) -> None:
    """Call *act* in the next turn of the event loop."""
    try:
        asyncio.get_running_loop().call_soon(act)
    except RuntimeError:  # there is none, so nobody waits
        act()
