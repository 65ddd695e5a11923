"""What of a stream waits for later turns: it is sent there, and before the stream's end.

A provider that sends very much at once holds up no other stream so.
"""

import asyncio
import logging
from collections.abc import Awaitable
from mitmproxy import http
from mitmproxy.utils import asyncio_utils

from .sending import Outlet
from .stream import Rewriter

logger = logging.getLogger(__name__)

_MOST = 2 * 1024 * 1024
"""Bytes of one stream that wait; no model says as much at once."""
_AT_A_BREAK = 0.5
"""Seconds that repair may still take when a provider has broken off."""


class Backlog:
    """What of one stream waits.

    Args:
        flow: Its flow.
        rewriter: Repairs it.
        outlet: Where it is sent.
    """

    def __init__(
        self, flow: http.HTTPFlow, rewriter: Rewriter, outlet: Outlet
    ) -> None:
        self._client = flow.client_conn
        self._rewriter = rewriter
        self._outlet = outlet
        self._task: asyncio.Task[None] | None = None
        rewriter.patience = _MOST
        rewriter.on_wait = self._start
        rewriter.finish = self.finish

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio_utils.create_task(
                self._run(),
                name="rest of a burst",
                keep_ref=True,
                client=self._client.peername,
            )

    async def _run(self) -> None:
        rewriter = self._rewriter
        try:
            while rewriter.is_behind:
                await asyncio.sleep(0)  # all others have their turn
                await self._send()
                await self._outlet.flush()
        except Exception:  # as above
            logger.exception("normalize: cannot send beside mitmproxy")
            rewriter.patience = 0

    async def _send(self) -> None:
        rewriter = self._rewriter
        if not await self._outlet.send_made(rewriter.go_on):  # nobody takes it any more
            rewriter.patience = 0
            rewriter.go_on()

    async def finish(self, is_broken: bool) -> None:  # noqa: FBT001 - see `Rewriter`
        """Wait until all has been sent; not for long, if the provider broke off."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_AT_A_BREAK if is_broken else None)
        if self._rewriter.is_behind:
            self._rewriter.patience = 0
            await self._send()


def wait(flow: http.HTTPFlow, rewriter: Rewriter) -> bool:
    """Let what *rewriter* has no time for wait; tell whether it can be sent later."""
    outlet = None
    try:
        outlet = Outlet.of(flow)
    except Exception:  # it is made of mitmproxy's inner parts: one may be gone
        logger.exception("normalize: cannot send beside mitmproxy")
    if outlet is not None:
        Backlog(flow, rewriter, outlet)
    return outlet is not None


def rest_of(flow: http.HTTPFlow) -> Awaitable[None] | None:
    """Return what sends the rest of a stream before its end, if anything waits.

    Args:
        flow: The flow, in the hook `response` or `error`.
    """
    # It may be of an addon that was there before a reload.
    stream = flow.response.stream if flow.response else None
    is_behind = getattr(stream, "is_behind", False)
    return stream.finish(flow.error is not None) if is_behind else None
