"""Examples of each fix: a few, short ones first, of different models."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..records.difference import Change, changes, excerpts
from . import log_reader as reader

MAX_EXAMPLES = 3  # of each fix
UNKNOWN = "not known"  # whose an example is that no record of an answer follows

_FIX_WEIGHT = 500  # an event that needed one fix alone shows it best
_PENDING = 16_000_000  # characters of examples whose answer has not ended
_WEIGHT = 1000  # characters that an example is worth beside its own
_ID = 200  # characters of a flow's id
_TOO_LONG = 200_000  # characters of an event that is not looked into
_LINES = 12
_LINE = 1200  # characters


class Line(NamedTuple):
    """A line of an event: `old`, `new`, `same`, or a `note` that is none of its text."""

    kind: str
    text: str


class Pair(NamedTuple):
    """An event before and after, as its record has it.

    Attributes:
        n: Its place in the stream.
        fixes: All fixes that changed it.
        observed: Whether it was only observed.
        before: What it was; None if it was not there before.
        after: What was sent for it.
        score: The lower, the better it shows a fix.
    """

    n: int
    fixes: tuple[str, ...]
    observed: bool
    before: str | None
    after: list[str]
    score: int


class Example(NamedTuple):
    """One event before and after.

    Attributes:
        host: The provider that sent it.
        model: The model that was asked for.
        pair: The event, without its texts.
        changes: What is not as it was, field by field.
        lines: The lines that differ, without what they have in common.
    """

    host: str
    model: str
    pair: Pair
    changes: list[Change]
    lines: list[Line]


class Examples:
    """A few examples of each fix, of one model each, whatever the number of events.

    A pair names no model; the record at the end of its answer does. Until that comes, the
    best of each answer wait, so many characters of them at most.
    """

    def __init__(self) -> None:
        self._best: dict[str, dict[tuple[str, str], Example]] = {}
        self._pending: dict[str, dict[str, Pair]] = {}
        self._waiting = 0

    def add(self, record: reader.Record, fixes: Iterable[str]) -> None:
        """Add the record of a pair, an example of *fixes*."""
        before, after = record.get("before"), record.get("after")
        if not isinstance(after, list) or not isinstance(before, (str, type(None))):
            return
        if not all(isinstance(each, str) for each in after):
            return
        names = tuple(fixes)
        if not names:
            return
        size = sum(map(len, after)) + len(before or "")
        score = size + _FIX_WEIGHT * (len(names) - 1)
        flow = reader.text_of(record, "flow")[:_ID]
        waiting = self._pending.setdefault(flow, {})
        pair = None
        for name in names:
            known = waiting.get(name)
            if known is not None and known.score <= score:
                continue
            pair = pair or Pair(
                reader.number_of(record, "n"),
                names,
                record.get("mode") == "observe",
                before,
                after,
                score,
            )
            self._waiting += score - known.score if known else score + _WEIGHT
            waiting[name] = pair
        while self._waiting > _PENDING:
            self.close(next(iter(self._pending)), UNKNOWN, UNKNOWN)

    def close(self, flow: str, host: str, model: str) -> None:
        """Record that *host* and *model* sent the answer *flow*."""
        for name, pair in self._pending.pop(flow[:_ID], {}).items():
            self._waiting -= pair.score + _WEIGHT
            self._offer(name, pair, host, model)

    def finish(self) -> None:
        """Close what waits: no more records follow."""
        for flow in list(self._pending):
            self.close(flow, UNKNOWN, UNKNOWN)

    def of(self, name: str) -> list[Example]:
        """The examples of the fix *name*, the shortest first."""
        return sorted(self._best.get(name, {}).values(), key=_score)

    def _offer(self, name: str, pair: Pair, host: str, model: str) -> None:
        best = self._best.setdefault(name, {})
        known = best.get((host, model))
        if known is None and len(best) == MAX_EXAMPLES:
            known = max(best.values(), key=_score)  # makes room if it is longer
        if known is not None:
            if known.pair.score <= pair.score:
                return
            del best[known.host, known.model]
        best[host, model] = _example(pair, host, model)


def _score(example: Example) -> int:
    return example.pair.score


def _example(pair: Pair, host: str, model: str) -> Example:
    # Its texts may be as large as a body; its lines are not.
    brief = pair._replace(before=None if pair.before is None else "", after=[])
    if pair.score > _TOO_LONG:
        note = Line("note", "too long to be shown here")
        return Example(host, model, brief, [], [note])
    found = changes(pair.before, pair.after)
    if any(each.is_of_part for each in found):  # its lines say it better
        found = [Change("chunks", "1", str(len(pair.after)))]
    lines = [*_diff(pair.before, pair.after)]
    if not found and not lines:
        lines = [Line("note", "the same, but it was sent after a later event")]
    return Example(host, model, brief, found, lines)


def _diff(before: str | None, after: list[str]) -> Iterator[Line]:
    """Yield the lines of an event and of what became of it, without what is the same."""
    old = [line for line in (before or "").split("\n") if line]
    new = [line for block in after for line in block.split("\n") if line]
    known_old, known_new = set(old), set(new)
    gone = [line for line in old if line not in known_new]
    come = [line for line in new if line not in known_old]
    if not gone and not come:
        return
    gone, come = excerpts(gone, come)
    lines = [Line("old", line) for line in gone]
    if before is None:
        lines.append(Line("note", "nothing was there"))
    lines += [Line("new", line) for line in come]
    if not new:
        dropped = "a bare newline remains" if after else "dropped"
        lines.append(Line("note", dropped))
    for line in lines[:_LINES]:
        yield line._replace(text=_short(line.text))
    if len(lines) > _LINES:
        yield Line("note", f"{len(lines) - _LINES} lines more")


def _short(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[:_LINE]}…"
