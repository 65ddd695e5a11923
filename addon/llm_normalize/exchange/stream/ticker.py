"""Calls after one and the same time, with one timer for all who wait for that.

Each stream waits for two times that hardly ever come. A timer of asyncio's for each of
them would cost as much as some events do.
"""

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Call:
    """What will be called.

    Attributes:
        due: When, by the clock of the event loop.
        act: What; None if it was cancelled.
    """

    due: float
    act: Callable[[], None] | None

    def cancel(self) -> None:
        """Call nothing, and hold nothing that it would need."""
        self.act = None


class Ticker:
    """Calls what it is given, in the order in which it was given.

    Args:
        seconds: After how long.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._calls: deque[Call] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def after(self, act: Callable[[], None]) -> Call:
        """Have *act* called once the time is over."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the one before has ended
            self._loop = loop
            self._calls.clear()
        call = Call(loop.time() + self._seconds, act)
        self._calls.append(call)
        if len(self._calls) == 1:
            loop.call_at(call.due, self._ring, loop)
        return call

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call what is due, and wait for the next one that is not cancelled."""
        calls = self._calls
        now = loop.time()
        # The first one stays until the end: whoever is added meanwhile sets no timer.
        while calls and (calls[0].act is None or calls[0].due <= now):
            act = calls[0].act
            try:
                if act is not None:
                    act()
            except Exception:  # the others have theirs
                logger.exception("normalize: what is due by the clock has failed")
            calls.popleft()
        if calls:
            loop.call_at(calls[0].due, self._ring, loop)


@functools.lru_cache(maxsize=16)
def ticker(seconds: float) -> Ticker:
    """Return what calls after so many *seconds*."""
    return Ticker(seconds)
