"""What happened when: answers and events in spans of time that grow as need be."""

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field

SPANS = {
    1: "second",
    5: "5 seconds",
    15: "15 seconds",
    60: "minute",
    300: "5 minutes",
    900: "15 minutes",
    3600: "hour",
    10_800: "3 hours",
    21_600: "6 hours",
    43_200: "12 hours",
    86_400: "day",
    604_800: "week",
    2_419_200: "4 weeks",
    31_449_600: "52 weeks",
}
"""Seconds of a bucket, each a multiple of those before, and what they are called."""

OTHER_END = "?"
ERROR = "status"
"""Stands among the ends for an error by its HTTP status that arrived whole."""
_MAX_BUCKETS = 4000  # buckets, before they are joined to larger ones
_SHOWN = 48
_MONDAY = 4 * 86_400  # weeks begin on one; the epoch was a Thursday
# A clock that is wrong says 1970, say: such a bar would leave no room for the others.
_FIRST, _LAST = (
    dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp() for year in (2020, 2100)
)
_LONG = 40  # characters of a time


@dataclass
class Bucket:
    """What ended within one span of time.

    Attributes:
        ends: Answers, by how they ended; and errors.
        events: Events they had.
        changed: Events that a fix changed.
    """

    ends: Counter[str] = field(default_factory=Counter)
    events: int = 0
    changed: int = 0

    def add(self, end: str, events: int, changed: int) -> None:
        """Count an answer."""
        self.ends[end] += 1
        self.events += events
        self.changed += changed

    def merge(self, other: "Bucket") -> None:
        """Add all that *other* counted."""
        self.ends.update(other.ends)
        self.events += other.events
        self.changed += other.changed


class Timeline:
    """Buckets of equal length, in UTC.

    Attributes:
        since: When the first answer ended, in seconds; None before there is one.
        until: When the last one ended.
        undated: Answers without a time that can be.
    """

    def __init__(self) -> None:
        self.since: float | None = None
        self.until: float | None = None
        self.undated = 0
        self._span = min(SPANS)
        self._buckets: dict[int, Bucket] = {}

    def add(self, time: str, end: str, events: int, changed: int) -> float | None:
        """Count an answer that ended at *time*; return that in seconds, if it can be."""
        at = seconds(time)
        if at is None:
            self.undated += 1
            return None
        self.since = at if self.since is None else min(self.since, at)
        self.until = at if self.until is None else max(self.until, at)
        number = int(at - _MONDAY) // self._span
        self._buckets.setdefault(number, Bucket()).add(end, events, changed)
        if len(self._buckets) > _MAX_BUCKETS:
            span = next(span for span in SPANS if span > self._span)
            self._buckets = self._joined(span)
            self._span = span
        return at

    def buckets(self) -> tuple[int, list[tuple[int, Bucket]]]:
        """Return seconds of a bucket, and all buckets from the first to the last.

        With each comes when it begins. There are 48 at most, the empty ones among them;
        more only where no bucket is long enough for that.
        """
        for span in SPANS:
            if span < self._span:
                continue
            joined = self._joined(span)
            if not joined:
                return span, []
            first, last = min(joined), max(joined)
            if last - first < _SHOWN or span == max(SPANS):
                numbers = range(first, last + 1)
                return span, [
                    (at * span + _MONDAY, joined.get(at, Bucket())) for at in numbers
                ]
        raise AssertionError  # the last span always returns

    def _joined(self, span: int) -> dict[int, Bucket]:
        joined: dict[int, Bucket] = {}
        for number, bucket in self._buckets.items():
            at = number * self._span // span
            joined.setdefault(at, Bucket()).merge(bucket)
        return joined


def seconds(time: str) -> float | None:
    """Return RFC 3339's *time* in seconds since the epoch; None for one that cannot be."""
    if len(time) > _LONG:
        return None
    try:
        read = dt.datetime.fromisoformat(time)
        at = (read if read.tzinfo else read.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return at if _FIRST <= at < _LAST else None
