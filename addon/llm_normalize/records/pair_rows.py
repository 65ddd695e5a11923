"""The pairs of one answer that a view shows: of events changed alike, the first one.

Bounded, however long the answer is: there are the first rows and the last ones, for the
end of a stream is where most goes wrong.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

FIRST = 250
LAST = 50
_BYTES = 512 * 1024  # of the blocks of the first rows
_LONG = _BYTES // LAST  # of the blocks of one of the last


@dataclass(slots=True)
class LastPair:
    """The last event that was changed as the first one of its row was."""

    n: int
    before: bytes | None
    after: Sequence[bytes]


@dataclass(slots=True)
class Row:
    """A pair, and the events after it that were changed alike.

    Attributes:
        n: The event's place in the stream.
        ms: When it was sent, since the headers.
        fixes: What changed it.
        before: Its bytes as they were received; None for an event that was added.
        after: What was sent for it.
        more: How many events after it were changed alike; -1 until it is counted itself.
        last: The last of them; of a long one, its place alone.
    """

    n: int
    ms: float
    fixes: Sequence[str]
    before: bytes | None
    after: Sequence[bytes]
    more: int = -1
    last: LastPair | None = None

    def is_of(
        self, fixes: Sequence[str], before: bytes | None, after: Sequence[bytes]
    ) -> bool:
        """Tell whether its pair is the same but for time and place."""
        same = self.before == before and list(self.after) == list(after)
        return same and list(self.fixes) == list(fixes)

    def stored(self) -> list[Any]:
        """Return it in types that mitmproxy saves with a flow."""
        last = self.last
        changed = [self.n, self.ms, list(self.fixes), self.before, list(self.after)]
        end = [] if last is None else [last.n, last.before, list(last.after)]
        return [*changed, self.more, end]

    @classmethod
    def from_stored(cls, value: Sequence[Any]) -> Self:
        """Return the row that *value*, checked, was stored as."""
        n, ms, fixes, before, after, more, end = value
        last = LastPair(*end) if end else None
        return cls(n, ms, fixes, before, after, more, last)


class Rows:
    """The rows of one answer, in order."""

    def __init__(self) -> None:
        self._first: list[Row] = []
        self._last: deque[Row] = deque(maxlen=LAST)
        self._bytes = 0
        self._is_full = False
        self._pairs = 0
        self._newest: Row | None = None

    def add(
        self,
        n: int,
        ms: float,
        fixes: Sequence[str],
        before: bytes | None,
        after: Sequence[bytes],
    ) -> Row:
        """Add a row for the pair of event *n*, and return it: it is not counted yet."""
        row = Row(n, ms, list(fixes), before, list(after))
        self._newest = row
        size = len(before or b"") + sum(map(len, after))
        if self._bytes + size > _BYTES or len(self._first) >= FIRST:
            self._is_full = True
        if not self._is_full:
            self._bytes += size
            self._first.append(row)
        elif size <= _LONG:
            self._last.append(row)
        return row

    def add_or_count(
        self,
        n: int,
        ms: float,
        fixes: Sequence[str],
        before: bytes | None,
        after: Sequence[bytes],
    ) -> None:
        """Count the pair of event *n*, in the row of the one before if it is the same."""
        row = self._newest
        if row is None or not row.is_of(fixes, before, after):
            row = self.add(n, ms, fixes, before, after)
        self.count(row, 1, (n, before, after))

    def count(
        self, row: Row, events: int, last: tuple[int, bytes | None, Sequence[bytes]]
    ) -> None:
        """Count *events* that were changed as *row* says, the *last* of them this pair."""
        n, before, after = last
        self._pairs += events
        row.more += events
        if row.more:
            is_long = len(before or b"") + sum(map(len, after)) > _LONG
            changed = (row.before, row.after) if is_long else (before, list(after))
            row.last = LastPair(n, *changed)

    def stored(self) -> dict[str, Any]:
        """Return it all, in types that mitmproxy saves with a flow."""
        rows = [*self._first, *self._last]
        return {
            "pairs": [row.stored() for row in rows],
            "left_out": self._pairs - sum(1 + row.more for row in rows),
            "left_out_at": len(self._first),
        }


NO_ROWS = Rows()
"""Of all answers of which no pair is shown."""
