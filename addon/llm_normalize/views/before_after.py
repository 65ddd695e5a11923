"""The content view `Before/After`: what was repaired in an answer, and what that changed.

It reads the flow's metadata only, so it shows the same for a live flow and for one
loaded from a file, with or without the addon's log. A file may come from anywhere: what
has not the form that the addon gives it is no record.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from mitmproxy import contentviews

from ..fixes import DECLARED
from ..records.difference import Change, changes, excerpts
from ..records.flow_metadata import AnswerMetadata, status_change
from ..records.masking import text_of
from ..records.pair_rows import Row
from ..records.statistics import is_error
from ..text.printable import brief, counted, escaped
from .answer_view import BLANK, AnswerView, Line, broken_off

_WIDE = 400
"""Characters that are shown of a line of an event."""
_LINES = 12
"""Lines that are shown of an event."""

_PROSE = 78
"""Columns of what is said of a fix."""
_INDENT, _DEEPER = " " * 4, " " * 6


class BeforeAfter(AnswerView):
    """Summary of the fixes, then each changed event before and after."""

    name = "Before/After"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """Return the view's text.

        Raises:
            ValueError: The message is not an answer recorded by the addon.
        """
        record = self.record(metadata)
        if record is None:
            raise ValueError("not an answer recorded by llm_normalize")
        return self.shown([*_summary(record), *_events(record)])

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """Come first where something was repaired, be there where nothing was."""
        record = self.record(metadata)
        if record is None:
            return -1
        return 10 if record["fixes"] or record["request"] else 0.1


def _summary(record: AnswerMetadata) -> Iterator[Line]:
    observe = record["observe"]
    changed, events = record["changed"], record["events"]
    verb = "would be repaired (observe)" if observe else "repaired"
    if is_error(record["status"]):
        yield Line(f"error, {verb}" if record["fixes"] else "error, as it was received")
    else:
        yield Line(f"{changed:,} of {counted(events, 'event')} {verb}")
    yield Line(BLANK)
    yield _named("provider", brief(record["host"]))
    yield _named("model", brief(record["model"] or "-"))
    yield _named("answer", _end(record))
    until = "so far" if record["end"] == "running" else "all after"
    times = [
        f"{what} {record[key]:,.0f} ms"
        for what, key in (("first event after", "first_ms"), (until, "total_ms"))
        if record[key] is not None
    ]
    yield _named("time", ", ".join(times))
    would = "would be " if observe else ""
    for name, verb, path in record["request"]:
        change = f"{brief(path)} {would}{brief(verb)} ({brief(name)})"
        yield _named("request", change)
    if record["is_cut"]:
        yield _named("stored", "its beginning only: it was too long")
    if record["fixes"]:
        yield Line(BLANK)
    width = max((len(f"{count:,}") for _, count in record["fixes"]), default=0)
    for name, count in record["fixes"]:
        yield from _about(f"{count:>{width},} x ", name)


def _named(name: str, value: str) -> Line:
    return Line(value, f"{name:<10}", " " * 10)


def _about(count: str, name: str) -> Iterator[Line]:
    """Yield what a fix changes, and whom that breaks."""
    fix = DECLARED.get(name)
    about = [f"{name}: {fix.changes}", fix.why] if fix else [name]
    indent = " " * len(count)
    for lead, text in zip((count, indent), about, strict=False):
        yield Line(escaped(text.replace("`", "")), lead, indent, most=_PROSE)


def _end(record: AnswerMetadata) -> str:
    status = ""
    if record["status"] is not None:
        change = status_change(record.get("received_status"), record["status"])
        status = f"status {change}, "
    kind = "stream" if record["stream"] else "body"
    ends = {
        "complete": "complete",
        "running": "still running",
        "unfinished": "still running when it was saved",
        "error": "none arrived",
    }
    broken = broken_off(record)
    shown = ends.get(record["end"], escaped(record["end"]))
    return f"{status}{kind}, {f'ended early: {broken}' if broken else shown}"


def _events(record: AnswerMetadata) -> Iterator[Line]:
    rows = [Row.from_stored(each) for each in record["pairs"]]
    at = record["left_out_at"] if record["left_out"] else len(rows)
    yield from _runs(rows[:at], record["events"])
    if record["left_out"]:
        yield Line(BLANK)
        left_out = counted(record["left_out"], "event")
        yield Line(f"… {left_out} more, see the before/after log …")
    yield from _runs(rows[at:], record["events"])


def _runs(rows: Sequence[Row], events: int) -> Iterator[Line]:
    """Yield the lines of *rows*; of those that changed alike the first, and a count."""
    shown = ((row, _changes(row.before, row.after)) for row in rows)
    for _, run in groupby(shown, key=lambda each: _kind(*each)):
        (row, found), *others = run
        yield Line(BLANK)
        yield from _event(row, found, events)
        alike = [row, *(other for other, _ in others)]
        more = sum(each.more for each in alike) + len(others)
        if more:
            ends = [each.last for each in alike if each.last]
            last = [_changes(each.before, each.after) for each in ends]
            every = [found, *(each for _, each in others), *last]
            merged = _split(row, found) or _merged(every)
            end = max((each.last or each).n for each in alike)
            words = f"next {counted(more, 'event')}: {'; '.join(merged)}"
            yield Line(f"{words} (to event {end:,})", _INDENT, _DEEPER)


def _changes(before: bytes | None, after: Sequence[bytes]) -> list[Change]:
    text = None if before is None else text_of(before)
    return changes(text, [*map(text_of, after)])


def _kind(row: Row, found: Sequence[Change]) -> object:
    """The key of a change, equal for events that changed alike."""
    places = [
        each  # a whole one is alike if it is the same
        if each.place.endswith("event")
        else (each.place, each.old is None, each.new is None)
        for each in found
    ]
    return row.fixes, row.before is None, places


def _merged(found: Sequence[Sequence[Change]]) -> Iterator[str]:
    """Yield each change that events have in common, with what differs left out."""
    for alike in zip(*found, strict=False):
        old, new = {each.old for each in alike}, {each.new for each in alike}
        first = alike[0]
        common = Change(
            first.place,
            first.old if len(old) == 1 else "…",
            first.new if len(new) == 1 else "…",
        )
        yield escaped(str(common))


def _event(row: Row, found: Sequence[Change], events: int) -> Iterator[Line]:
    place = f"event {row.n:,}"
    if row.before is None:
        place = "added at the end" if row.n >= events else f"added after {place}"
    head = f"{place}, {row.ms:,g} ms: {escaped(', '.join(row.fixes))}"
    yield Line(head, rest="  ")
    for change in _split(row, found) or map(str, found):
        yield Line(escaped(change), _INDENT, _DEEPER)
    if not found:  # it was sent later, or has a status
        yield Line("the event itself is as it was", _INDENT, _DEEPER)
        return
    new = [line for block in row.after for line in _lines(block)]
    gone, come = excerpts(_lines(row.before or b""), new)
    yield from _shown("  - ", gone)
    yield from _shown("  + ", come)


def _split(row: Row, found: Sequence[Change]) -> list[str]:
    """What is said of a chunk that became several: they themselves are shown."""
    is_split = any(each.is_of_part for each in found)
    return [f"1 chunk became {len(row.after)}"] if is_split else []


def _shown(mark: str, lines: Sequence[str]) -> Iterator[Line]:
    for line in lines[:_LINES]:
        more = f" … and {len(line) - _WIDE:,} characters more"
        shown = escaped(line[:_WIDE]) + (more if len(line) > _WIDE else "")
        yield Line(shown, mark, _INDENT)
    if len(lines) > _LINES:
        yield Line(f"… and {counted(len(lines) - _LINES, 'line')} more", mark)


def _lines(block: bytes) -> list[str]:
    return [line for line in text_of(block).replace("\r", "\\r").split("\n") if line]
