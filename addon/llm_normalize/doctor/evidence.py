"""The fixes at work: what they changed, and in which event that shows best."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..fixes import DECLARED
from ..records.difference import Change, changes
from ..records.masking import mask, text_of
from ..text.printable import brief

_CHANGES = 4
_BLOCK = 256 * 1024  # bytes of an event that are compared
_GENERAL = {"choice", "data", "event", "field", "tool"}
"""What the names of many fixes begin with."""


@dataclass
class Evidence:
    """A fix at work: how often, and what it did in one event.

    Attributes:
        name: The fix.
        changes: What it changes, by its own declaration.
        why: Whom that breaks.
        count: Events that it changed.
        first: The answer and the event in which it first occurred.
        seen: The answer and the event that `shown` tells of, with the fewest fixes.
        shown: Changes, brief.
        more: Changes of that event that are not shown.
        together: How many fixes changed that event.
    """

    name: str
    changes: str
    why: str
    count: int = 0
    first: str = ""
    seen: str = ""
    shown: list[Change] = field(default_factory=list)
    more: int = 0
    together: int = 1 << 30

    def offer(self, where: str, fixes: Sequence[str], found: Sequence[Change]) -> None:
        """Take one event, if it shows this fix better than what is there."""
        self.first = self.first or where
        if len(fixes) >= self.together:
            return
        self.together = len(fixes)
        self.seen = where
        # Its own changes, as far as its name tells which of several those are.
        parts = (each for each in self.name.split("-") if each not in _GENERAL)
        word = next(parts, self.name)
        own = [each for each in found if word in each.place] or found
        self.shown = [_shown(each) for each in own[:_CHANGES]]
        self.more = len(found) - len(self.shown)


def _shown(change: Change) -> Change:
    old, new = (each and brief(each) for each in (change.old, change.new))
    return Change(brief(change.place), old, new)


def evidence(found: dict[str, Evidence], name: str) -> Evidence:
    """The evidence for the fix *name* in *found*, put there if need be."""
    fix = DECLARED[name]
    return found.setdefault(name, Evidence(name, fix.changes, fix.why))


def compared(before: bytes | None, after: Sequence[bytes]) -> list[Change]:
    """The differences, without the provider's echo of the request."""
    old = None if before is None else mask(text_of(before[:_BLOCK]))
    try:
        return changes(old, [mask(text_of(each[:_BLOCK])) for each in after])
    except RecursionError:
        return [Change("event", "nested too deeply to be compared", "…")]


def ordered(found: dict[str, Evidence]) -> list[Evidence]:
    """The fixes in the order in which they act."""
    return [found[name] for name in DECLARED if name in found]
