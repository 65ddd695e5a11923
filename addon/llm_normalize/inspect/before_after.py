"""The content view `Before/After`: what was repaired in an answer, and what that changed.

It reads the flow's metadata only, so it shows the same for a live flow and for one
loaded from a file, with or without the addon's log. A file may come from anywhere: what
has not the form that the addon gives it is no record.
"""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from mitmproxy import contentviews

from ..fixes import DECLARED
from ..records.difference import Change, aligned, changes
from ..records.flow_metadata import AnswerMetadata, status_change
from ..records.masking import text_of
from ..records.pair_rows import Row
from ..records.statistics import is_error
from ..text.printable import brief, escaped
from .answer_view import BLANK, AnswerView, broken_off

_WIDE = 400
"""Characters that are shown of a line of an event."""
_LINES = 12
"""Lines that are shown of an event."""


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
        return "\n".join([*_summary(record), *_events(record)]) + "\n"

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """Come first where something was repaired, be there where nothing was."""
        record = self.record(metadata)
        if record is None:
            return -1
        return 10 if record["fixes"] or record["request"] else 0.1


def _summary(record: AnswerMetadata) -> Iterator[str]:
    observe = record["observe"]
    changed, events = record["changed"], record["events"]
    verb = "would be repaired (observe)" if observe else "repaired"
    if is_error(record["status"]):
        yield f"error, {verb}" if record["fixes"] else "error, as it was received"
    else:
        yield f"{changed:,} of {_counted(events, 'event')} {verb}"
    yield BLANK
    yield f"provider  {brief(record['host'])}"
    yield f"model     {brief(record['model'] or '-')}"
    yield f"answer    {_end(record)}"
    until = "so far" if record["end"] == "running" else "all after"
    times = [
        f"{what} {record[key]:,.0f} ms"
        for what, key in (("first event after", "first_ms"), (until, "total_ms"))
        if record[key] is not None
    ]
    yield f"time      {', '.join(times)}"
    would = "would be " if observe else ""
    for name, verb, path in record["request"]:
        yield f"request   {brief(path)} {would}{brief(verb)} ({brief(name)})"
    if record["is_cut"]:
        yield "stored    its beginning only: it was too long"
    if record["fixes"]:
        yield BLANK
    width = max((len(f"{count:,}") for _, count in record["fixes"]), default=0)
    for name, count in record["fixes"]:
        yield from _about(f"{count:>{width},} x ", name)


def _about(count: str, name: str) -> Iterator[str]:
    """Yield what a fix changes, and whom that breaks."""
    fix = DECLARED.get(name)
    about = [f"{name}: {fix.changes}", fix.why] if fix else [name]
    for lead, text in zip((count, ""), about, strict=False):
        yield from textwrap.wrap(
            escaped(text.replace("`", "")),
            78,
            initial_indent=lead or " " * len(count),
            subsequent_indent=" " * len(count),
        )


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


def _events(record: AnswerMetadata) -> Iterator[str]:
    rows = [Row.from_stored(each) for each in record["pairs"]]
    at = record["left_out_at"] if record["left_out"] else len(rows)
    yield from _runs(rows[:at], record["events"])
    if record["left_out"]:
        yield BLANK
        yield f"… {_counted(record['left_out'], 'event')} more, see the before/after log …"
    yield from _runs(rows[at:], record["events"])


def _runs(rows: Sequence[Row], events: int) -> Iterator[str]:
    """Yield the lines of *rows*; of those that changed alike the first, and a count."""
    shown = ((row, _changes(row.before, row.after)) for row in rows)
    for _, run in groupby(shown, key=lambda each: _kind(*each)):
        (row, found), *others = run
        yield BLANK
        yield from _event(row, found, events)
        alike = [row, *(other for other, _ in others)]
        more = sum(each.more for each in alike) + len(others)
        if more:
            ends = [each.last for each in alike if each.last]
            last = [_changes(each.before, each.after) for each in ends]
            merged = "; ".join(_merged([found, *(each for _, each in others), *last]))
            end = max((each.last or each).n for each in alike)
            yield f"    next {_counted(more, 'event')}: {merged} (to event {end:,})"


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


def _event(row: Row, found: Sequence[Change], events: int) -> Iterator[str]:
    place = f"event {row.n:,}"
    if row.before is None:
        place = "added at the end" if row.n >= events else f"added after {place}"
    yield f"{place}, {row.ms:,g} ms: {escaped(', '.join(row.fixes))}"
    for change in found:
        yield f"    {escaped(str(change))}"
    if not found:
        yield "    the event itself is as it was"  # it was sent later, or has a status
        return
    old = _lines(row.before or b"")
    new = [line for block in row.after for line in _lines(block)]
    if len(old) == len(new) == 1:
        old[0], new[0] = aligned(old[0], new[0])
    yield from _shown("  - ", old)
    yield from _shown("  + ", new)


def _shown(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines[:_LINES]:
        more = f" … and {len(line) - _WIDE:,} characters more"
        yield mark + escaped(line[:_WIDE]) + (more if len(line) > _WIDE else "")
    if len(lines) > _LINES:
        yield f"{mark}… and {_counted(len(lines) - _LINES, 'line')} more"


def _lines(block: bytes) -> list[str]:
    return [line for line in text_of(block).replace("\r", "\\r").split("\n") if line]


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
