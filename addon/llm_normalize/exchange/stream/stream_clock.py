"""What a stream sends by the clock: what has waited long enough, and signs of life.

A provider that falls silent must not keep from the client what it has sent already
(a finish reason that waited for the next event, say), and clients and proxies between
give up a connection on which nothing comes for a minute.

Nothing runs by the clock while nothing waits, but one look at each stream in a while.
"""

import asyncio
from collections.abc import Callable

from mitmproxy import http
from mitmproxy.utils import asyncio_utils

from .client_stream import ClientStream
from .stream_rewriter import Rewriter
from .ticker import Call, ticker

WAIT = 0.1
"""Seconds that a part of an answer waits for the next event, at most."""
_LOOKS = 10
"""Looks at a stream in the time after which a silent one gets a newline."""


class StreamClock:
    """Sends in one stream what nothing that is received would have sent.

    Args:
        flow: Its flow.
        rewriter: What its body passes.
        keepalive: Seconds of silence after which the client gets a bare newline, and
            repeated after as many; 0 is never.
        failed: Called where this mitmproxy does not let an addon send by the clock.
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
        self._pause = keepalive / _LOOKS
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._since = 0.0  # when what waits began to
        self._waking: Call | asyncio.TimerHandle | None = None
        self._look: Call | None = None
        self._sent = 0  # bytes, when it was looked at last
        self._quiet = 0  # looks since then
        self._is_over = False
        rewriter.on_wait = self._wait
        self._look_later()

    def stop(self) -> None:
        """Send nothing more."""
        self._is_over = True
        for handle in (self._waking, self._look):
            if handle is not None:
                handle.cancel()
        self._waking = self._look = None

    def _wait(self) -> None:
        """Have what waits sent in a moment, unless it is before."""
        self._since = self._loop.time()
        if self._waking is None and not self._is_over:
            self._waking = ticker(WAIT).after(self._wake)

    def _wake(self) -> None:
        self._waking = None
        if not self._rewriter.waits:
            return
        if self._loop.time() < self._since + WAIT:
            self._waking = self._loop.call_at(self._since + WAIT, self._wake)
            return
        self._send(self._rewriter.release)

    def _look_later(self) -> None:
        if self._pause and not self._is_over:
            self._look = ticker(self._pause).after(self._look_now)

    def _look_now(self) -> None:
        """Send a newline if nothing was sent for long, whatever was received."""
        sent = self._rewriter.bytes_out
        self._quiet = self._quiet + 1 if sent == self._sent else 0
        self._sent = sent
        if self._quiet >= _LOOKS:
            self._quiet = 0
            self._send(self._sign_of_life)
        self._look_later()

    def _sign_of_life(self) -> bytes:
        client_stream = ClientStream.of(self._flow)
        if client_stream is None or client_stream.is_behind:
            return b""
        newline = self._rewriter.newline()
        self._sent += len(newline)
        return newline

    def _send(self, make: Callable[[], bytes]) -> None:
        asyncio_utils.create_task(
            self._try(make),
            name="what a stream sends by the clock",
            keep_ref=True,
            client=self._flow.client_conn.peername,
        )

    async def _try(self, make: Callable[[], bytes]) -> None:
        try:
            client_stream = ClientStream.of(self._flow)
            if client_stream is None:
                self.stop()  # the client has left, or the stream is over
            else:
                await client_stream.send(make)
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self.stop()
            self._failed()


async def send_rest(flow: http.HTTPFlow, rewriter: Rewriter) -> None:
    """Send what waits in a stream that breaks off, before its client sees that."""
    client_stream = ClientStream.of(flow)
    if client_stream is not None:
        await client_stream.send(lambda: rewriter.release(last=True))
