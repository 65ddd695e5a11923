"""Sends held events and keep-alive newlines on a timer, and ends what is complete.

A client must get what a provider sent before it fell silent (a finish reason held for the
next event, for example). Clients and intermediate proxies close a connection that is silent
for a minute. And some clients read until the end, which a provider may never send.

If nothing is held, the only timer is a periodic check per stream.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from mitmproxy import http
from mitmproxy.flow import Error

from ...mitm.client_stream import ClientStream
from ...mitm.helpers import create_task
from .stream_rewriter import Rewriter

WAIT = 0.1
"""Seconds for which most parts of an answer are held for the next event, and the end of the
message after its last event."""
_CHECKS = 10
"""Checks of a stream per keep-alive interval."""


class StreamClock:
    """Sends held events and keep-alive newlines, and ends what is complete, on a timer.

    Args:
        flow: Its flow.
        rewriter: Repairs its body.
        keepalive: Seconds of silence after which the client gets a bare newline, each
            time, and all that waits for the next event; 0 is never.
        failed: Called if this mitmproxy does not let an addon send on a timer.
    """

    __slots__ = (
        "_check", "_events", "_failed", "_flow", "_is_over", "_loop", "_pause", "_quiet",
        "_rewriter", "_sent", "_silent", "_since", "_waking",
    )  # fmt: skip

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
        self._waking: asyncio.TimerHandle | None = None
        self._check: asyncio.TimerHandle | None = None
        self._sent = 0  # bytes, at the last check
        self._quiet = 0  # checks since then
        self._events = 0  # that were received, at the last check
        self._silent = 0  # checks since then
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
            self._waking = self._loop.call_later(WAIT, self._wake)

    def _wake(self) -> None:
        self._waking = None
        if not self._rewriter.waits:
            return
        if self._loop.time() < self._since + WAIT:
            self._waking = self._loop.call_at(self._since + WAIT, self._wake)
            return
        if self._rewriter.is_done:
            self._do(self._conclude)
        else:
            self._send(lambda _: self._rewriter.release())

    def _check_later(self) -> None:
        if self._pause and not self._is_over:
            self._check = self._loop.call_later(self._pause, self._check_now)

    def _check_now(self) -> None:
        """Look for silence of the provider, and to the client.

        Comments do not tell that an answer goes on. And the client gets a newline if
        nothing was sent for long, even if something was received.
        """
        events, sent = self._rewriter.events, self._rewriter.bytes_out
        self._silent = self._silent + 1 if events == self._events else 0
        self._quiet = self._quiet + 1 if sent == self._sent else 0
        self._events, self._sent = events, sent
        if self._silent == _CHECKS and events:
            self._do(self._conclude)
        if self._quiet >= _CHECKS:
            self._quiet = 0
            self._send(self._sign_of_life)
        self._check_later()

    def _sign_of_life(self, client_stream: ClientStream) -> bytes:
        is_silent = self._rewriter.bytes_out == self._sent
        if client_stream.is_behind or not is_silent:
            return b""
        newline = self._rewriter.newline()
        self._sent += len(newline)
        return newline

    async def _conclude(self, client_stream: ClientStream) -> None:
        await client_stream.end(partial(self._rewriter.conclude, broke=False))

    def _send(self, make: Callable[[ClientStream], bytes]) -> None:
        async def send(client_stream: ClientStream) -> None:
            await client_stream.send(partial(make, client_stream))

        self._do(send)

    def _do(self, act: Callable[[ClientStream], Coroutine[Any, Any, None]]) -> None:
        create_task(
            self._try(act),
            name="what a stream sends by the clock",
            keep_ref=True,
            client=self._flow.client_conn.peername,
        )

    async def _try(
        self, act: Callable[[ClientStream], Coroutine[Any, Any, None]]
    ) -> None:
        try:
            client_stream = ClientStream.of(self._flow)
            if client_stream is None:
                self.stop()  # the client has left, or the stream is over
            else:
                await act(client_stream)
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self.stop()
            self._failed()


async def send_rest(flow: http.HTTPFlow, rewriter: Rewriter) -> None:
    """Send what is held when a stream breaks off, before its client sees that.

    A stream that is complete by its own word has ended for its client then, unless
    somebody ends it on purpose.
    """
    client_stream = ClientStream.of(flow)
    if client_stream is None:
        return
    if flow.error is not None and flow.error.msg != Error.KILLED_MESSAGE:
        await client_stream.end(partial(rewriter.conclude, broke=True))
    else:
        await client_stream.send(lambda: rewriter.release(last=True))
