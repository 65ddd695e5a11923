"""Sends held events and keep-alive newlines on a timer.

A client must get what a provider sent before it fell silent (a finish reason held for the
next event, for example). Clients and intermediate proxies close a connection that is silent
for a minute.

If nothing is held, the only timer is a periodic check per stream.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from mitmproxy import http
from mitmproxy.utils import asyncio_utils

from .client_stream import ClientStream
from .shared_timer import Call, timer_for
from .stream_rewriter import Rewriter

WAIT = 0.1
"""Seconds for which a part of an answer is held for the next event, at most."""
_CHECKS = 10
"""Checks of a stream per keep-alive interval."""


class StreamClock:
    """Sends held events and keep-alive newlines on a timer.

    Args:
        flow: Its flow.
        rewriter: Repairs its body.
        keepalive: Seconds of silence after which the client gets a bare newline, each
            time; 0 is never.
        failed: Called if this mitmproxy does not let an addon send on a timer.
    """

    def __init__(
        self,
        flow: http.HTTPFlow,
        rewriter: Rewriter,
        keepalive: float,
        failed: Callable[[], None],
    ) -> None:
        self._flow = flow
        self._rewriter = rewriter
        self._pause = keepalive / _CHECKS
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._since = 0.0  # when holding began
        self._waking: Call | asyncio.TimerHandle | None = None
        self._check: Call | None = None
        self._sent = 0  # bytes, at the last check
        self._quiet = 0  # checks since then
        self._is_over = False
        rewriter.on_wait = self._wait
        self._check_later()

    def stop(self) -> None:
        """Send nothing more."""
        self._is_over = True
        for handle in (self._waking, self._check):
            if handle is not None:
                handle.cancel()
        self._waking = self._check = None

    def _wait(self) -> None:
        """Send what is held after `WAIT` seconds, unless it is sent before."""
        self._since = self._loop.time()
        if self._waking is None and not self._is_over:
            self._waking = timer_for(WAIT).after(self._wake)

    def _wake(self) -> None:
        self._waking = None
        if not self._rewriter.waits:
            return
        if self._loop.time() < self._since + WAIT:
            self._waking = self._loop.call_at(self._since + WAIT, self._wake)
            return
        self._send(lambda _: self._rewriter.release())

    def _check_later(self) -> None:
        if self._pause and not self._is_over:
            self._check = timer_for(self._pause).after(self._check_now)

    def _check_now(self) -> None:
        """Send a newline if nothing was sent for long, even if something was received."""
        sent = self._rewriter.bytes_out
        self._quiet = self._quiet + 1 if sent == self._sent else 0
        self._sent = sent
        if self._quiet >= _CHECKS:
            self._quiet = 0
            self._send(self._sign_of_life)
        self._check_later()

    def _sign_of_life(self, client_stream: ClientStream) -> bytes:
        if client_stream.is_behind:
            return b""
        newline = self._rewriter.newline()
        self._sent += len(newline)
        return newline

    def _send(self, make: Callable[[ClientStream], bytes]) -> None:
        asyncio_utils.create_task(
            self._try(make),
            name="what a stream sends by the clock",
            keep_ref=True,
            client=self._flow.client_conn.peername,
        )

    async def _try(self, make: Callable[[ClientStream], bytes]) -> None:
        try:
            client_stream = ClientStream.of(self._flow)
            if client_stream is None:
                self.stop()  # the client has left, or the stream is over
            else:
                await client_stream.send(partial(make, client_stream))
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self.stop()
            self._failed()


async def send_rest(flow: http.HTTPFlow, rewriter: Rewriter) -> None:
    """Send what is held when a stream breaks off, before its client sees that."""
    client_stream = ClientStream.of(flow)
    if client_stream is not None:
        await client_stream.send(lambda: rewriter.release(last=True))
