"""What was in force when: options change while answers are on their way."""

from workshop.soak.judge import May

LOADING = 2.0
"""Seconds that a reload may take after mitmdump has logged that it begins."""


class Facet:
    """Something that has a value, and when it may have had which.

    Args:
        value: What it has at first.
    """

    def __init__(self, value: str) -> None:
        self._spans = [(value, float("-inf"), float("inf"))]

    def begin(self, value: str, at: float) -> None:
        """Record that from *at* on it may be *value*, or still the old one."""
        self._spans.append((value, at, float("inf")))

    def settle(self, at: float) -> None:
        """Record that from *at* on it is the new value, and no other."""
        value, start, _ = self._spans[-2]
        self._spans[-2] = (value, start, at)

    def during(self, began: float, ended: float) -> set[str]:
        """Return the values that it may have had from *began* to *ended*."""
        return {
            value
            for value, start, end in self._spans
            if start <= ended and began <= end
        }


class History:
    """All that changed while mitmdump ran."""

    def __init__(self) -> None:
        self.mode = Facet("repair")
        self.skip = Facet("")
        self.addon = Facet("loaded")

    def may(self, began: float, ended: float) -> May:
        """Return what may have counted for an answer that took this time."""
        modes = self.mode.during(began, ended)
        return May(
            repair="repair" in modes,
            observe="observe" in modes,
            skip=bool(self.skip.during(began, ended) - {""}),
            reload="loading" in self.addon.during(began, ended),
        )
