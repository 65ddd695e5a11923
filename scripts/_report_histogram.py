"""Percentiles of any number of times, from a few kilobytes."""

import math
from array import array

import pairs

ACCURACY = "1 %"
"""How far a percentile may be from the true one."""

_GROWTH = 1.02  # from one bin to the next: its middle is within 1 % of all in it
_LEAST = 0.1  # milliseconds; the log has no finer ones
_MOST = 1e9  # milliseconds: eleven days
_BINS = math.ceil(math.log(_MOST / _LEAST) / math.log(_GROWTH)) + 1


class Histogram(pairs.Times):
    """Milliseconds, counted in bins that each are 2 % wider than the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._bins = array("Q", bytes(8 * _BINS))
        self._least, self._most = math.inf, 0.0

    def add(self, ms: float) -> None:
        """Take in the time of one answer."""
        self.count += 1
        self._least, self._most = min(self._least, ms), max(self._most, ms)
        ratio = min(max(ms, _LEAST), _MOST) / _LEAST
        self._bins[int(math.log(ratio) / math.log(_GROWTH))] += 1

    def merge(self, other: "Histogram") -> None:
        """Take in all that *other* has."""
        self.count += other.count
        self._least = min(self._least, other._least)
        self._most = max(self._most, other._most)
        self._bins = array("Q", map(int.__add__, self._bins, other._bins))

    def at(self, part: float) -> float | None:
        """Return the time that *part* of the answers needed at most, to 1 %."""
        rank = max(1, math.ceil(part * self.count))
        seen = 0
        for number, count in enumerate(self._bins):
            seen += count
            if seen >= rank:
                middle = _LEAST * _GROWTH ** (number + 0.5)
                return min(max(middle, self._least), self._most)
        return None
