"""What is remembered of a provider's texts: that they are cumulative, or go on.

How it is proved: `repair/cumulative_text.py`, and `repair/machine` for `GOES_ON`.
"""

from collections import OrderedDict
from collections.abc import Hashable

_PLACES = 256
GOES_ON = "finish"
"""What is remembered where a choice has gone on after its finish reason, which then waits
for the next event (`repair/machine`)."""
_NOTHING = frozenset[str]()
KINDS = ("content", "reasoning", GOES_ON)


class ProvedGrowth:
    """Where texts have been proved cumulative, or have gone on after a finish reason.

    The least recently used source goes first.

    Args:
        most: How many sources are remembered.
    """

    def __init__(self, most: int = _PLACES) -> None:
        self._proved: OrderedDict[Hashable, None] = OrderedDict()
        self._most = most

    def kinds(self, source: Hashable) -> frozenset[str]:
        """The facts proved of *source*: kinds of text, and `GOES_ON`."""
        if not self._proved:
            return _NOTHING  # nearly always
        found = frozenset(kind for kind in KINDS if (source, kind) in self._proved)
        for kind in found:
            self._proved.move_to_end((source, kind))
        return found

    def add(self, source: Hashable) -> None:
        """Remember *source*, and what has been proved of it."""
        self._proved[source] = None
        if len(self._proved) > self._most:
            self._proved.popitem(last=False)

    def forget(self, source: Hashable) -> None:
        """Forget *source*."""
        self._proved.pop(source, None)


class Growth:
    """Which kinds of text are known to be cumulative in one answer, or to go on.

    What other answers prove meanwhile does not count.

    Args:
        proved: What has been proved, of which sources.
        source: Where the answer comes from; None is never remembered.
    """

    def __init__(self, proved: ProvedGrowth, source: Hashable = None) -> None:
        self.source = source
        self.known = _NOTHING if source is None else proved.kinds(source)
        """The kinds of text that have been proved cumulative, and `GOES_ON`."""
        self._proved = proved

    def add(self, kind: str) -> None:
        """Remember that texts of a *kind* are cumulative here, or go on (`GOES_ON`)."""
        if self.source is not None:
            self.known |= {kind}
            self._proved.add((self.source, kind))

    def forget(self, kind: str) -> None:
        """Forget that texts of a *kind* are cumulative here."""
        self.known -= {kind}
        self._proved.forget((self.source, kind))


NO_GROWTH = Growth(ProvedGrowth(0), None)
"""Remembers nothing."""
