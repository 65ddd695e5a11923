"""The answers of one model on one host, counted."""

from collections import Counter
from typing import Any

from ..records.statistics import TOKENS, is_error
from .histogram import Histogram
from .log_reader import Record, number_of, text_of, time_of

ENDS = ("complete", "client-left", "upstream-broke", "error")
PARTS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Group:
    """The answers of one model on one host, repaired or only observed.

    An error by its HTTP status is no answer, and stands apart.

    Attributes:
        flows: How many answers.
        events: How many events they had.
        changed: How many of those a fix changed.
        requests: How many requests were changed.
        repaired: Answers that a fix changed.
        errors: How many errors, by HTTP status.
        ends: How often each end, of answers and of errors that did not arrive whole.
        fixes: Events that each fix changed, also of errors.
        fixed: Answers and errors that each fix changed.
        tokens: Tokens, by their names in OpenAI's usage.
        protocols: Answers by the protocol of their client, where that is not chat.
        native: Those of them that were not translated.
        begin: Milliseconds until the first event.
        total: Milliseconds until an answer was over.
    """

    def __init__(self) -> None:
        self.flows = self.events = self.changed = self.requests = self.repaired = 0
        self.errors: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.fixes: Counter[str] = Counter()
        self.fixed: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.protocols: Counter[str] = Counter()
        self.native: Counter[str] = Counter()
        self.begin = Histogram()
        self.total = Histogram()

    def add(self, record: Record) -> None:
        """Count the record of one answer, or of one error."""
        fixes, end = record["fixes"], text_of(record, "end")
        for name in fixes:
            self.fixes[name] += number_of(fixes, name)
            self.fixed[name] += 1
        status = number_of(record, "status")
        if is_error(status):
            self.errors[str(status)] += 1
            self.ends[end] += end != "complete"
            return
        self.flows += 1
        self.events += number_of(record, "events")
        self.changed += number_of(record, "changed")
        self.ends[end] += 1
        self.repaired += bool(fixes)
        for name in TOKENS:
            self.tokens[name] += number_of(record, name)
        if record.get("protocol"):
            self.protocols[record["protocol"]] += 1
            self.native[record["protocol"]] += not record.get("translated")
        for times, key in ((self.begin, "first_ms"), (self.total, "total_ms")):
            ms = time_of(record, key)
            if ms is not None:
                times.add(ms)

    def merge(self, other: "Group") -> None:
        """Count all that *other* counted, too."""
        for name, value in vars(other).items():
            if isinstance(value, int):
                setattr(self, name, getattr(self, name) + value)
            else:  # a counter, or a histogram
                getattr(self, name).update(value)

    @property
    def responses(self) -> int:
        """How many answers and errors."""
        return self.flows + self.errors.total()

    @property
    def kinds(self) -> str:
        """What those are, in words."""
        return "answers and errors" if self.errors else "answers"

    @property
    def broken(self) -> int:
        """How many of them did not arrive whole."""
        return self.ends.total() - self.ends["complete"]

    @property
    def failed(self) -> str:
        """How many errors, by status; empty for none."""
        return ", ".join(f"{status} ({n:,})" for status, n in ranked(self.errors))

    @property
    def translated(self) -> str:
        """How many answers were translated, by protocol; empty for none."""
        return _counted(self.protocols - self.native)

    @property
    def untranslated(self) -> str:
        """How many answers were in their client's protocol, likewise."""
        return _counted(+self.native)

    def as_json(self) -> dict[str, Any]:
        """All of it, for a program."""
        return {
            "flows": self.flows,
            "events": self.events,
            "changed": self.changed,
            "requests": self.requests,
            "ends": dict((+self.ends).most_common()),
            "first_ms": _times(self.begin),
            "fixes": {
                name: {"events": count, "flows": self.fixed[name]}
                for name, count in ranked(self.fixes)
            },
            "repaired": self.repaired,
            **({"errors": dict(ranked(self.errors))} if self.errors else {}),
            **+self.tokens,
            **({"protocols": dict(self.protocols)} if self.protocols else {}),
            "total_ms": _times(self.total),
        }


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in ranked(found))


def _times(times: Histogram) -> dict[str, float | None]:
    found = {name: times.at(part) for name, part in PARTS.items()}
    return {name: at if at is None else round(at, 1) for name, at in found.items()}


def ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """*counts*, the largest first."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))
