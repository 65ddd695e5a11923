"""Several events on one line."""

import re
from collections.abc import Iterator
from itertools import islice

from ..chat.chunks.chunk_form import is_chunk, is_readable
from ..chat.errors.chunk_errors import is_error
from ..chat.errors.failed_event import has_failed, holds_answer, may_be_chunk
from ..repair.fix import DONE, STOP, TEXT, Example, Fix, wire
from ..wire.event_boundary import DONE as DONE_DATA
from ..wire.event_boundary import MARKS, ValueScan, values_in
from ..wire.json_text import dumps, value_in
from ..wire.sse import Event, encode

_MARK = re.compile(
    rb"\A|data:[ \t]*+|[\r\n]++(?:data:[ \t]*+)?+"
    rb'|(?=\{[ \t]*+"(?:id|object|created|model|choices|error)")'
)
"""Where a whole event may begin."""
_MOST = 32  # such places
_LONG = 256 * 1024  # bytes of a line that is parted


def _glued(*events: bytes) -> bytes:
    return b"".join(each.rstrip(b"\n") for each in events) + b"\n\n"


# Several events on one line, of which some may be cut: `data: {…}data: {…}`.
class DataGlued(Fix):
    """Give each value an event of its own; what is cut leaves a bare newline."""

    name = "data-glued"
    changes = '`data: {…}data: {…}`, `data: {…,"chdata: {…}` -> an event each'
    why = "Every client fails to parse the line, or skips it."
    providers = ("relays before Z.AI and OpenRouter",)
    sources = (
        "https://github.com/anomalyco/opencode/issues/23442",
        "https://github.com/1jehuang/jcode/issues/609",
    )
    examples = (
        Example("two", [_glued(wire([TEXT]), wire([STOP])), DONE], [TEXT, STOP, DONE]),
        Example("done", [TEXT, _glued(wire([STOP]), DONE)], [TEXT, STOP, DONE]),
        Example(
            "half a value",
            [TEXT, _glued(wire([TEXT])[:40], wire([STOP]), DONE)],
            [TEXT, b"\n", STOP, DONE],
        ),
        Example.untouched("words behind", [_glued(wire([TEXT]), b"bye")]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Part the values."""
        values = values_in(event.data or b"")
        if len(values) < 2 or event.foreign:  # noqa: PLR2004
            return None
        return [Event(encode(value), event.n) for value in values]

    def unread(self, event: Event) -> list[Event] | None:
        """Part the values from what is cut."""
        data = event.data or b""
        if event.foreign or not event.closed or len(data) > _LONG:
            return None
        found, cuts, at = list[Event](), list[bytes](), 0
        for begin, stop, end in [*_wholes(data), (len(data),) * 3]:
            if data[at:begin].strip():
                cuts.append(data[at:begin])
                found.append(_of_cut(cuts[-1], event.n))
            if stop < end:
                found.append(Event(encode(data[stop:end]), event.n))
            at = end
        wholes = len(found) - len(cuts)
        # Of words beside a single event others know what they say.
        is_parted = wholes > 1 or (wholes and all(map(may_be_chunk, cuts)))
        is_sure = cuts and not any(map(holds_answer, cuts))  # as lenient clients read
        return found if is_sure and is_parted else None


def _wholes(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield where the glue before each whole event begins and stops, and where that ends.

    Where something is cut before it, the line ends behind it, or another event begins:
    what a text quotes is none.
    """
    at = marks = 0
    for mark in islice(_MARK.finditer(data), _MOST):
        stop = mark.end()
        if mark.start() < at or not data.startswith((b"{", b"["), stop):
            continue
        scan = ValueScan()
        end = scan.find(data, stop)
        marks += scan.marks
        if marks > MARKS:
            return
        is_apart = (
            mark.start() == at or not data[end:].strip() or _MARK.match(data, end)
        )
        if end >= 0 and is_apart and _is_whole(data[stop:end]):
            yield mark.start(), stop, end
            at = end


def _is_whole(data: bytes) -> bool:
    """Tell whether *data* is a whole chunk, an error, or the end of a stream."""
    if data == DONE_DATA:
        return True
    value = value_in(data)
    return is_error(value) or (is_chunk(value) and is_readable(value))


def _of_cut(data: bytes, n: int) -> Event:
    """The replacement of *data*, an incomplete event."""
    error = has_failed(data.decode(errors="replace").strip())
    if error is None:
        return Event(b"\n", n, is_hole=may_be_chunk(data))
    # Words need not be about a failure if the answer goes on.
    is_words = not error.startswith("{")
    return Event(encode(dumps({"error": error})), n, may_be_noise=is_words)
