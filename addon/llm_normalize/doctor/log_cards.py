"""The cards of before/after logs: changed events, by host and model."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import conformance
from ..report import log_reader as reader
from ..text.printable import brief
from .card import Card, card_of, grouped
from .evidence import Evidence, compared, evidence, ordered
from .verdict import LEFT, NONE, REPAIRED, Fault, fault_of

_OPEN = ("", "")  # host and model of an answer whose record is not there
_FLOWS = 10_000
_REFUSALS = 20
"""Refusals of one host and model that a card shows."""
_ALONE = (
    "does not validate",
    "beside a delta",
    "has a null role",
    "has a null tool_calls",
    "has a null function_call",
)
"""What a changed event shows by itself; for the rest one has to know its neighbours."""
_LIMITS = (
    "a log has only changed events: events that passed unchanged, and the rules about a "
    "whole answer, were not checked; what is left was looked for in each changed event "
    "and its repaired form"
)


@dataclass
class _Changed:
    """Changed events of some answers."""

    fixes: dict[str, Evidence] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    pairs: int = 0
    flows: int = 0
    repaired: int = 0
    events: int = 0
    observed: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)

    def add_refusal(self, record: reader.Record) -> None:
        """Add a refusal whose words asked for nothing known."""
        words = brief(reader.text_of(record, "words"))
        said = f"refused with {reader.number_of(record, 'status')}: {words}"
        if said in self.refusals or len(self.refusals) < _REFUSALS:
            self.refusals[said] = self.refusals.get(said, 0) + 1

    def add_pair(self, record: reader.Record) -> None:
        """Add a pair."""
        before, after = record.get("before"), record.get("after")
        names = record.get("fixes")
        if not isinstance(after, list) or not isinstance(names, list):
            return
        blocks = [_bytes(each) for each in after]
        where = f"answer {brief(reader.text_of(record, 'flow'))[:8]}"
        place = f"{where}, event {reader.number_of(record, 'n')}"
        fixes = [each for each in names if isinstance(each, str)]
        shown = [evidence(self.fixes, name) for name in fixes]
        differences = []
        if any(len(fixes) < each.together for each in shown):
            differences = compared(
                _bytes(before) if isinstance(before, str) else None, blocks
            )
        for each in shown:
            each.count += 1
            each.offer(place, fixes, differences)
        n = reader.number_of(record, "n")
        for block in blocks:
            with contextlib.suppress(RecursionError):  # nested too deeply to be judged
                self.faults += [(where, fault) for fault in _faults(block, n)]
        self.pairs += 1

    def add(self, other: "_Changed") -> None:
        """Add what *other* has of one answer."""
        for name, theirs in other.fixes.items():
            mine = self.fixes.setdefault(name, theirs)
            if mine is not theirs:
                mine.merge(theirs)
        self.faults += other.faults[: max(0, _FLOWS - len(self.faults))]
        self.pairs += other.pairs


def _bytes(text: object) -> bytes:
    return str(text).encode("utf-8", "surrogatepass")


def _faults(block: bytes, n: int) -> Iterator[Fault]:
    """Yield what is wrong with a block whatever stands around it."""
    request = conformance.Request(include_usage=None)
    body = _object(block)
    if body is None:
        found = conformance.check_stream(block, request, complete=False)
    elif body.get("error") is not None and "choices" not in body:
        found = conformance.check_error_body(block)
    else:
        found = conformance.check_body(block, request)
    for each in map(fault_of, found):
        alone = each.rule in ("framing", "envelope", "error")
        if body is not None or alone or any(part in each.text for part in _ALONE):
            yield Fault(each.rule, each.text, n)


def _object(block: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(block)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def cards(given: Iterable[str]) -> Iterator[Card]:
    """Yield a card for each host and model in the logs *given*.

    Raises:
        LogError: One of them cannot be read.
    """
    notes = reader.Notes()
    groups: dict[tuple[str, str], _Changed] = {}
    under_way: dict[str, _Changed] = {}
    for record in reader.read(reader.find(given), notes):
        flow = reader.text_of(record, "flow")
        if record.get("type") == "pair":
            if flow not in under_way and len(under_way) >= _FLOWS:
                oldest = next(iter(under_way))
                groups.setdefault(_OPEN, _Changed()).add(under_way.pop(oldest))
            under_way.setdefault(flow, _Changed()).add_pair(record)
        elif record.get("type") == "refusal":
            groups.setdefault(_key(record), _Changed()).add_refusal(record)
        elif record.get("type") == "flow":
            _close(groups, under_way.pop(flow, _Changed()), record)
    for changed in under_way.values():
        groups.setdefault(_OPEN, _Changed()).add(changed)
    read = _read_notes(notes)
    for (host, model), changed in sorted(groups.items()):
        yield _card(host, model, changed, read)
    if not groups:
        empty = Card("before/after logs", "logged", headline="The logs hold nothing.")
        empty.notes += read
        yield empty


def _close(
    groups: dict[tuple[str, str], _Changed], changed: _Changed, record: reader.Record
) -> None:
    group = groups.setdefault(_key(record), _Changed())
    group.add(changed)
    group.flows += 1
    group.repaired += bool(reader.number_of(record, "changed") or changed.pairs)
    group.events += reader.number_of(record, "events")
    group.observed += record.get("mode") == "observe"
    end = reader.text_of(record, "end")
    if end in ("upstream-broke", "error"):
        group.ends[end] = group.ends.get(end, 0) + 1


def _key(record: reader.Record) -> tuple[str, str]:
    return reader.text_of(record, "host"), reader.text_of(record, "model")


def _card(host: str, model: str, changed: _Changed, read: list[str]) -> Card:
    subject = f"{host or 'answers without a record'}, model {model or '-'}"
    card = card_of(subject, "logged", [])
    card.fixes = ordered(changed.fixes)
    card.left = grouped(changed.faults)
    logged = f"{changed.flows} answer{'' if changed.flows == 1 else 's'} logged"
    figures = f"{logged}, {changed.pairs} events changed"
    if card.left:
        card.verdict = LEFT
        card.headline = f"Something is left that no fix repairs; {figures}."
    elif changed.pairs:
        card.verdict = REPAIRED
        card.headline = f"Repaired, as far as a log shows: {figures}."
    else:
        card.verdict = NONE
        card.headline = f"Nothing had to be repaired: {figures}."
    if changed.observed:
        card.notes.append(f"{changed.observed} answers were observed, not repaired")
    broke = {"upstream-broke": "broke off", "error": "got no response"}
    card.notes += [
        f"{count} answers {broke[end]}" for end, count in changed.ends.items()
    ]
    card.notes += [
        f"{said}, {count} times: a form that these words ask for is not known; please report them"
        for said, count in changed.refusals.items()
    ]
    card.notes += [*read, _LIMITS]
    return card


def _read_notes(notes: reader.Notes) -> list[str]:
    counts = {
        "lines were lost when the log was written": notes.lost,
        "files end in half a line": notes.torn,
        "lines are not records": notes.unreadable,
    }
    return [f"{count} {what}" for what, count in counts.items() if count]
