"""The card: what the verdicts on several answers come to."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..fixes import DECLARED
from ..records.difference import Change, changes
from ..records.masking import mask, text_of
from ..text.printable import brief, counted
from .verdict import CONFORMS, LEFT, NONE, REPAIRED, Fault, Verdict

MOST = 40
"""Kinds of faults, notes and rows that are shown."""

_CHANGES = 4
_BLOCK = 256 * 1024  # bytes of an event that are compared
_GENERAL = {"choice", "data", "event", "field", "tool"}
"""What the names of many fixes begin with."""
_VARIES = re.compile(r"""'[^']*'|"[^"]*"|\d+""")


@dataclass
class Row:
    """One answer in the table; `arrival` is `spread`, `at once` or empty."""

    name: str
    status: int | None
    content_type: str
    encoding: str
    first_ms: float | None
    total_ms: float | None
    events: int | None
    arrival: str
    verdict: str


@dataclass
class Group:
    """Faults of one kind, with the first of them."""

    rule: str
    text: str
    count: int
    answer: str
    event: int | None


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


@dataclass
class Card:
    """What there is to say about one provider.

    Attributes:
        subject: Whom it is about.
        verdict: The verdict on all of it.
        headline: That as a sentence.
        rows: The answers.
        broken: The rules that they break.
        fixes: What repairs them.
        left: What is left.
        notes: What else there is to say.
    """

    subject: str
    verdict: str = NONE
    headline: str = ""
    rows: list[Row] = field(default_factory=list)
    broken: list[Group] = field(default_factory=list)
    fixes: list[Evidence] = field(default_factory=list)
    left: list[Group] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """All of it, for a program."""
        made = asdict(self)
        for fix in made["fixes"]:
            del fix["together"]
        return made


def _grouped(faults: Iterable[tuple[str, Fault]]) -> list[Group]:
    """Faults, each with its answer's name, by rule and kind, in their order."""
    groups: dict[tuple[str, str], Group] = {}
    for answer, fault in faults:
        key = (fault.rule, _VARIES.sub("", fault.text))
        group = groups.get(key)
        if group is None:
            text = brief(fault.text)
            groups[key] = Group(fault.rule, text, 1, answer, fault.event)
        else:
            group.count += 1
    return list(groups.values())


def card_of(subject: str, verdicts: Sequence[Verdict]) -> Card:
    """The card of these *verdicts*."""
    found: dict[str, Evidence] = {}
    for verdict in verdicts:
        _collect(found, verdict)
    card = Card(brief(subject), rows=[_row(verdict) for verdict in verdicts])
    card.broken = _grouped((v.answer.name, each) for v in verdicts for each in v.broken)
    card.left = _grouped((v.answer.name, each) for v in verdicts for each in v.left)
    card.fixes = [found[name] for name in DECLARED if name in found]  # in their order
    notes = [(v.answer.name, each) for v in verdicts for each in v.notes]
    # What holds for many is printed once.
    names: dict[str, list[str]] = {}
    for name, note in notes:
        names.setdefault(brief(note), []).append(name)
    for note, of in names.items():
        others = f" and {len(of) - 1} more" if len(of) > 1 else ""
        card.notes.append(f"{of[0]}{others}: {note}")
    card.verdict, card.headline = _headline([verdict.word for verdict in verdicts])
    return card


def _headline(words: Sequence[str]) -> tuple[str, str]:
    """The verdict on all, and its sentence."""
    count = {word: words.count(word) for word in (CONFORMS, REPAIRED, LEFT, NONE)}
    judged = len(words) - count[NONE]
    of = counted(judged, "answer")
    silent = f" No verdict on {count[NONE]} more." if count[NONE] else ""
    if count[LEFT]:
        return LEFT, (
            f"Something is left that no fix repairs, in {count[LEFT]} of {of}; "
            f"{count[REPAIRED]} repaired completely, {count[CONFORMS]} conform.{silent}"
        )
    if count[REPAIRED]:
        return REPAIRED, (
            f"Repaired completely: {count[REPAIRED]} of {of} are not as OpenAI sends "
            f"them, and the fixes repair all of it.{silent}"
        )
    if judged:
        return CONFORMS, f"Conforms: {of}, as OpenAI could have sent.{silent}"
    return NONE, "No verdict: there was no answer to check."


def _collect(found: dict[str, Evidence], verdict: Verdict) -> None:
    answer, result = verdict.answer, verdict.result
    for pair in result.pairs if result else ():
        where = f"{answer.name}, event {pair.n}"
        differences = _compared(pair.before, pair.after)
        for name in pair.fixes:
            if name not in verdict.head:
                _evidence(found, name).offer(where, pair.fixes, differences)
    for name, count in (result.fixes if result else {}).items():
        _evidence(found, name).count += count
    for name, change in verdict.head.items():
        each = _evidence(found, name)
        each.offer(answer.name, [name], [change])
        each.count += name not in (result.fixes if result else {})


def _row(verdict: Verdict) -> Row:
    answer = verdict.answer
    return Row(
        name=answer.name,
        status=answer.status or None,
        content_type=brief(answer.content_type),
        encoding=brief(answer.encoding),
        first_ms=answer.first_ms,
        total_ms=answer.total_ms,
        events=verdict.result.events if verdict.result and answer.stream else None,
        arrival=_arrival(verdict),
        verdict=verdict.word,
    )


_FEW = 3
_AT_ONCE_MS = 20.0


def _arrival(verdict: Verdict) -> str:
    """How the events of a stream arrived: one by one, or together."""
    answer, result = verdict.answer, verdict.result
    first, last = answer.first_ms, answer.last_ms
    few = result is None or result.events < _FEW
    if not answer.stream or first is None or last is None or few:
        return ""
    took = last - first
    return "at once" if took < _AT_ONCE_MS and took * 10 < first else "spread"


def _evidence(found: dict[str, Evidence], name: str) -> Evidence:
    """The evidence for the fix *name* in *found*, put there if need be."""
    fix = DECLARED[name]
    return found.setdefault(name, Evidence(name, fix.changes, fix.why))


def _compared(before: bytes | None, after: Sequence[bytes]) -> list[Change]:
    """The differences, without the provider's echo of the request."""
    old = None if before is None else mask(text_of(before[:_BLOCK]))
    try:
        return changes(old, [mask(text_of(each[:_BLOCK])) for each in after])
    except RecursionError:
        return [Change("event", "nested too deeply to be compared", "…")]
