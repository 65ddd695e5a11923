"""The pairs of one answer that a view shows: of events changed alike, the first one.

Bounded, however long the answer is: the first rows are kept, and the last ones, for the
end of a stream is where most goes wrong.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

type Row = list[Any]
"""What a flow's metadata can hold: n, ms, fixes, before, after, more, and the last pair.

The first five are those of a pair. `more` counts the events after it that were changed in
the same way; of the last of them, `[n, before, after]` is kept, too (of a long one, `n`).
"""

FIRST = 250
LAST = 50
_BYTES = 512 * 1024  # of the blocks of the first rows
_LONG = _BYTES // LAST  # of the blocks of one of the last


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
        row: Row = [n, ms, list(fixes), before, list(after), -1, []]
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

    def take(
        self,
        n: int,
        ms: float,
        fixes: Sequence[str],
        before: bytes | None,
        after: Sequence[bytes],
    ) -> None:
        """Count the pair of event *n*, in the row of the one before if it is the same."""
        row = self._newest
        if row is None or row[2:5] != [fixes, before, after]:
            row = self.add(n, ms, fixes, before, after)
        self.count(row, 1, (n, before, after))

    def count(
        self, row: Row, events: int, last: tuple[int, bytes | None, Sequence[bytes]]
    ) -> None:
        """Count *events* that were changed as *row* tells, and keep the last pair."""
        n, before, after = last
        self._pairs += events
        row[5] += events
        if row[5]:
            is_long = len(before or b"") + sum(map(len, after)) > _LONG
            row[6] = [n, *row[3:5]] if is_long else [n, before, list(after)]

    def told(self) -> dict[str, Any]:
        """Return it all, in types that mitmproxy saves with a flow."""
        rows = [*self._first, *self._last]
        return {
            "pairs": [
                [*row[:2], list(row[2]), row[3], list(row[4]), *row[5:]] for row in rows
            ],
            "left_out": self._pairs - sum(1 + row[5] for row in rows),
            "left_out_at": len(self._first),
        }
