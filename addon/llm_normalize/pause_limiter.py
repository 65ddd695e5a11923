"""Keeps the pauses of Python's garbage collector short while streams are under way.

A full collection looks through all objects, some 0.7 s per million, and every stream waits
for it. But what it looks through has hardly changed: modules, and streams that are open.
So what one collection has left over, the next ones skip (`gc.freeze`).

What is skipped is freed as ever once nobody refers to it, unless it refers to itself, as
a connection of mitmproxy's does. So once enough streams have ended, a collection skips
nothing; until then it is their memory that is not free yet.
"""

import gc

ENDED = 1000
"""Exchanges and connections that end before nothing is skipped once.

mitmproxy leaves some 40 KB of each.
"""
_FULL = 2  # the generation of a full collection


class PauseLimiter:
    """Has full collections skip what the last one has left over."""

    def __init__(self) -> None:
        self._ended = 0

    def begin(self, *, is_reloaded: bool) -> None:
        """Skip all that is there, unless that has been reloaded: what it replaces must go."""
        if not is_reloaded:
            gc.freeze()
        gc.callbacks.append(self._collected)

    def end(self) -> None:
        """Skip nothing any more."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
        gc.unfreeze()

    def ended(self) -> None:
        """Count an exchange, or a connection, that may be skipped although it has ended."""
        self._ended += 1

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != _FULL:
            return
        if phase == "stop":
            gc.freeze()
        elif self._ended >= ENDED:
            self._ended = 0
            gc.unfreeze()
