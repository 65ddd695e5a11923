"""Calls functions after a fixed delay, with one timer for all that share the delay.

Each stream has two timers, which are almost always cancelled. An asyncio timer for each
would cost as much as several events.
"""

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class ScheduledCall:
    """A scheduled call.

    Attributes:
        due: The time of the call, by the event loop's clock.
        act: The function; None if it was cancelled.
    """

    due: float
    act: Callable[[], None] | None

    def cancel(self) -> None:
        """Cancel the call, and release the function."""
        self.act = None


class SharedTimer:
    """Calls functions after a fixed delay, in the order in which they were added.

    Args:
        seconds: The delay.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._calls: deque[ScheduledCall] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def after(self, act: Callable[[], None]) -> ScheduledCall:
        """Call *act* after the delay."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the previous loop has ended
            self._loop = loop
            self._calls.clear()
        call = ScheduledCall(loop.time() + self._seconds, act)
        self._calls.append(call)
        if len(self._calls) == 1:
            loop.call_at(call.due, self._ring, loop)
        return call

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make the calls that are due, and set the timer for the next one."""
        calls = self._calls
        now = loop.time()
        # The first call stays until it returns: calls added meanwhile set no timer.
        try:
            while calls and (calls[0].act is None or calls[0].due <= now):
                _make(calls[0])
                calls.popleft()
        finally:  # whatever ends this one, the other calls must still be made
            if calls:
                loop.call_at(calls[0].due, self._ring, loop)


def _make(call: ScheduledCall) -> None:
    """Make a call, once."""
    act, call.act = call.act, None
    try:
        if act is not None:
            act()
    except Exception:  # the other calls must still be made
        logger.exception("normalize: a call on a timer failed")


@functools.lru_cache(maxsize=16)
def timer_for(seconds: float) -> SharedTimer:
    """Return the timer with a delay of *seconds*."""
    return SharedTimer(seconds)
