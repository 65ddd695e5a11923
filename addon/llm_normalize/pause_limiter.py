"""Keeps the pauses of Python's garbage collector short while streams are under way.

A full collection looks through all objects, some 0.7 s per million, and every stream waits
for it. But what it looks through has hardly changed: modules, and streams that are open.
So what one collection has left over, the next ones skip (`gc.freeze`).

Skipped objects are freed as usual once nobody refers to them, unless they refer to
themselves, as a connection of mitmproxy's does, with all that it holds. So once enough
exchanges have ended, a collection skips nothing; until then their memory may not be free.
"""

import gc

MAX_UNUSED = 40_000_000
"""Bytes that may be skipped although nobody uses them, until nothing is skipped once."""
EACH = 40_000
"""Bytes that mitmproxy holds of an exchange or a connection, beside the bodies."""
_FULL = 2  # the generation of a full collection


class PauseLimiter:
    """Has full collections skip what the last one has left over."""

    def __init__(self) -> None:
        self._unused = 0  # bytes, at most

    def begin(self, *, is_reloaded: bool) -> None:
        """Skip all that is there, unless that has been reloaded: what it replaces must go."""
        if not is_reloaded:
            gc.freeze()
        if self._collected not in gc.callbacks:
            gc.callbacks.append(self._collected)

    def end(self) -> None:
        """Skip nothing any more."""
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
