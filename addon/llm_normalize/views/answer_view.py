"""What the content views have in common: they show what the addon recorded of an answer."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from mitmproxy import contentviews, http

from ..records.flow_metadata import ENDS, AnswerMetadata, read_metadata
from ..text.printable import brief

BLANK = " "
"""A blank line: mitmweb shows none where there is nothing at all."""

COLUMNS = 36
"""Columns of a line in mitmweb: it breaks none, and shows 37 in a window of 700 pixels."""
_UNBROKEN = 1_000_000
"""Columns where a line is broken by what shows it: mitmproxy's console, a terminal."""
_DOUBLE = "\u2e80"
"""From here on most characters (Chinese, Japanese, Korean, emoji) take two columns."""
_BREAKS = (
    re.compile(r"(?<=[,;])"),
    re.compile(r'(?<=":)|(?<=[{\[])(?=["{\[])|(?=\.\w)|(?=[<\\])'),
)
"""Where a word may be broken: best behind a comma, else between parts of JSON, of a path
and of tags, and before what is escaped.
"""


class Line(NamedTuple):
    """A line of a view, that may take several on the screen.

    Attributes:
        text: What it says, escaped.
        first: What is before that on its first line.
        rest: What is before it on the others.
        most: Its columns where it is not broken otherwise.
    """

    text: str
    first: str = ""
    rest: str = ""
    most: int = _UNBROKEN


type Refresh = Callable[[http.HTTPFlow], None]
"""Lets a flow that is on its way tell all that there is by now."""


class AnswerView(contentviews.Contentview):
    """A view of an answer.

    Args:
        refresh: Called with a flow before it is shown.
        columns: The most columns of a line.
    """

    syntax_highlight = "none"

    def __init__(
        self, refresh: Refresh = lambda _: None, columns: int = _UNBROKEN
    ) -> None:
        self._refresh = refresh
        self._columns = columns

    def shown(self, lines: Iterable[Line]) -> str:
        """Return *lines*, none of them wider than can be seen."""
        parts = (part for line in lines for part in fitted(line, self._columns))
        return "".join(f"{part}\n" for part in parts)

    def record(self, metadata: contentviews.Metadata) -> AnswerMetadata | None:
        """The addon's record of a response; None if it is none of its answers."""
        flow = metadata.flow
        if (
            not isinstance(flow, http.HTTPFlow)
            or metadata.http_message is not flow.response
        ):
            return None
        self._refresh(flow)
        return read_metadata(flow.metadata, is_live=bool(flow.live))


def broken_off(record: AnswerMetadata) -> str:
    """The side that broke an answer off, in words; empty for a whole answer."""
    words = "" if record["end"] == "error" else ENDS.get(record["end"], "")
    return brief(record.get("why") or words) if words else ""


def fitted(line: Line, columns: int) -> Iterator[str]:
    """Yield *line* as lines of at most so many columns."""
    columns = min(columns, line.most)
    text, lead, at = line.text, line.first, 0
    while (end := _line_end(text, at, columns - len(lead))) < len(text):
        yield lead + text[at:end]
        at, lead = end, line.rest
        while text[at : at + 1] == " ":
            at += 1
    yield lead + text[at:]


def _line_end(text: str, at: int, room: int) -> int:
    """Return where the line that begins *at* a place in *text* ends at the latest."""
    full = at
    while full < len(text) and room > 0:
        room -= 2 if text[full] >= _DOUBLE else 1
        full += room >= 0
    if full == len(text) or text[full] == " ":
        return full
    least = at + (full - at) // 3  # a shorter line looks like a mistake
    blank = text.rfind(" ", least, full)
    if blank > least:
        return blank
    for each in _BREAKS:
        found = each.finditer(text, least + 1, full + 1)
        end = max((at.start() for at in found if at.start() <= full), default=0)
        if end:
            return end
    return full
