"""The content view `Before/After`: what was repaired in an answer, as a diff.

It reads the flow's metadata only, so it shows the same for a live flow and for one
loaded from a file, with or without the addon's log.
"""

from typing import Any

from mitmproxy import contentviews, http

from .legible import escaped
from .masking import text_of
from .record import KEY


class BeforeAfter(contentviews.Contentview):
    """Summary of the fixes, then each changed event before and after."""

    name = "Before/After"
    syntax_highlight = "none"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """Return the view's text.

        Raises:
            ValueError: The message is no answer that the addon looked at.
        """
        record = record_of(metadata)
        if record is None:
            raise ValueError("not an answer that llm_normalize looked at")
        return "\n".join([*_summary(record), *_diffs(record)]) + "\n"

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """Come first where something was repaired, be there where nothing was."""
        record = record_of(metadata)
        if record is None:
            return -1
        return 10 if record["fixes"] else 0.1


def record_of(metadata: contentviews.Metadata) -> dict[str, Any] | None:
    """Return what the addon noted of a response; None if it is none of its answers."""
    if metadata.flow is None or not isinstance(metadata.http_message, http.Response):
        return None
    record = metadata.flow.metadata.get(KEY)
    return record if isinstance(record, dict) else None


def _summary(record: dict[str, Any]) -> list[str]:
    verb = "would be repaired (observe)" if record["observe"] else "repaired"
    lines = [f"{record['changed']} of {record['events']} events {verb}"]
    lines += [f"{count:>6} x {name}" for name, count in record["fixes"]]
    if record["end"] != "complete":
        lines.append(f"the answer ended early: {record['end']}")
    if record["body_cut"]:
        lines.append("the answer was too long to keep: other views show its beginning")
    return lines


def _diffs(record: dict[str, Any]) -> list[str]:
    lines = []
    for n, ms, fixes, before, after in record["pairs"]:
        place = f"event {n}" if before is not None else f"added at event {n}"
        lines += ["", f"@@ {place}, {ms:g} ms: {', '.join(fixes)} @@"]
        old = _lines(before or b"")
        new = [line for block in after for line in _lines(block)]
        folded = _fold([*old, *new])
        old, new = folded[: len(old)], folded[len(old) :]
        lines += [f"- {line}" for line in old if line not in new]
        lines += [f"{'  ' if line in old else '+ '}{line}" for line in new]
    if record["left_out"]:
        lines += ["", f"and {record['left_out']} more, see the pairs log"]
    return lines


def _fold(lines: list[str]) -> list[str]:
    """Leave out what all *lines* begin with, up to the object that holds the change."""
    if len(lines) < 2:  # noqa: PLR2004
        return lines
    first, last = min(lines), max(lines)
    size = next(
        (at for at in range(min(len(first), len(last))) if first[at] != last[at]),
        min(len(first), len(last)),
    )
    prefix = first[:size]
    inner = prefix.rfind("{")
    start = max(prefix.rfind(",", 0, inner), prefix.rfind("{", 0, inner)) + 1
    if start <= len("data: {"):
        return lines
    return [f"data: …{line[start:]}" for line in lines]


def _lines(block: bytes) -> list[str]:
    """Return the lines of *block* without blank ones; control characters escaped."""
    text = text_of(block).replace("\r", "\\r")
    return [escaped(line) for line in text.split("\n") if line]
