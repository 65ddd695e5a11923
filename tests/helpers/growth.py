"""Does work grow as fast as the input, or faster? Told by CPU time of two sizes.

No speed is asserted: whatever the machine, eight times the input may cost about eight
times the work, and not sixty-four times. Regular expressions and list methods have no
steps that could be counted.
"""

import gc
import time
from collections.abc import Callable

FACTOR = 8
MOST = 28
"""Between 8 (the work grows with the input) and 64 (with its square)."""

TRIES = 4
"""Another process may get in the way of one of them."""

_LEAST = 0.003  # seconds: below it, caches and the clock have their say


def growth[T](
    make: Callable[[int], T],
    work: Callable[[T], object],
    size: int,
    tries: int = TRIES,
) -> float:
    """Return how many times more *work* it is when *make* gets `FACTOR` times *size*."""
    found = []
    for _ in range(tries):
        large = _cost(make(size * FACTOR), work)
        if large <= _LEAST:
            return 1.0
        found.append(large / _cost(make(size), work))
        if found[-1] < MOST / 2:
            break
    return min(found)


def _cost[T](value: T, work: Callable[[T], object]) -> float:
    gc.disable()  # what other tests have made is not to be looked through meanwhile
    try:
        begun = time.thread_time()
        work(value)
        return max(time.thread_time() - begun, _LEAST)
    finally:
        gc.enable()
