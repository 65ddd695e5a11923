"""Keeps short what holds all streams up: other threads, and Python's garbage collector.

A thread (the log, a large body) that computes has the interpreter for 5 ms at a time.

A full collection looks through all objects, some 0.7 s per million, and every stream waits
for it. But what it looks through has hardly changed: modules, and streams that are open.
So what one collection has left over, the next ones skip (`gc.freeze`).

Skipped objects are freed as usual once nobody refers to them, unless they refer to
themselves, as a connection of mitmproxy's does, with all that it holds. So once enough
exchanges have ended, a collection skips nothing; until then their memory may not be free.
"""

import gc
import sys

SWITCH = 0.0005
"""Seconds for which another thread may hold the event loop up."""
MAX_UNUSED = 40_000_000
"""Bytes that may be skipped although nobody uses them, until nothing is skipped once."""
EACH = 40_000
"""Bytes that mitmproxy holds of an exchange or a connection, beside the bodies."""
_FULL = 2  # the generation of a full collection


class PauseLimiter:
    """Has full collections skip what the last one has left over."""

    def __init__(self) -> None:
        self._unused = 0  # bytes, at most
        self._usual_switch: float | None = None  # the interval to be put back

    def begin(self, *, is_reloaded: bool) -> None:
        """Skip all that is there, unless that has been reloaded: what it replaces must go."""
        if not is_reloaded:
            gc.freeze()
        if self._collected not in gc.callbacks:
            gc.callbacks.append(self._collected)
        if self._usual_switch is None:
            self._usual_switch = sys.getswitchinterval()
            sys.setswitchinterval(min(self._usual_switch, SWITCH))

    def end(self) -> None:
        """Skip nothing any more, and let threads run as long as they did."""
        if self._usual_switch is not None:
            sys.setswitchinterval(self._usual_switch)
            self._usual_switch = None
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
        gc.unfreeze()

    def ended(self, size: int = 0) -> None:
        """Count an exchange, or a connection, that may be skipped although it has ended.

        Args:
            size: Bytes of its bodies.
        """
        self._unused += EACH + size

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != _FULL:
            return
        if phase == "stop":
            gc.freeze()
        elif self._unused >= MAX_UNUSED:
            self._unused = 0
            gc.unfreeze()
