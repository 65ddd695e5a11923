"""Percentiles of any number of times, from a few kilobytes."""

import math
from array import array

ACCURACY = "1 %"
"""How far a percentile may be from the true one."""

_GROWTH = 1.02  # from one bin to the next: its middle is within 1 % of all in it
_LEAST = 0.1  # milliseconds; the log has no finer ones
_MOST = 1e9  # milliseconds: eleven days
_BINS = math.ceil(math.log(_MOST / _LEAST) / math.log(_GROWTH)) + 1


class Histogram:
    """Milliseconds, counted in bins that each are 2 % wider than the one before.

    Attributes:
        count: How many times it took in.
        bins: How many of them fell into each bin.
        least: The shortest.
        most: The longest.
    """

    def __init__(self) -> None:
        self.count = 0
        self.bins = array("Q", bytes(8 * _BINS))
        self.least, self.most = math.inf, 0.0

    def add(self, ms: float) -> None:
        """Add the time of one answer."""
        self.count += 1
        self.least, self.most = min(self.least, ms), max(self.most, ms)
        ratio = min(max(ms, _LEAST), _MOST) / _LEAST
        self.bins[int(math.log(ratio) / math.log(_GROWTH))] += 1

    def update(self, other: "Histogram") -> None:
        """Add all that *other* has."""
        self.count += other.count
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.bins = array("Q", map(int.__add__, self.bins, other.bins))

    def at(self, part: float) -> float | None:
        """The time that *part* of the answers needed at most, to 1 %."""
        rank = max(1, math.ceil(part * self.count))
        seen = 0
        for number, count in enumerate(self.bins):
            seen += count
            if seen >= rank:
                middle: float = _LEAST * _GROWTH ** (number + 0.5)
                return min(max(middle, self.least), self.most)
        return None
