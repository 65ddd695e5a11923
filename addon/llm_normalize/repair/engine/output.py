r"""What is sent: bytes in order, newlines between blocks, and records that are complete.

The record of an event is handed over once all of it has been sent. That may be late: a part of it may wait,
and a `\n` may still follow that belongs to its last line end.
"""

import logging
import re
from collections.abc import Callable

from ...wire.sse import Gap
from ..outcome import BLANK, EventRecord

logger = logging.getLogger(__name__)

_LINE_END = re.compile(rb"\A(?:\r\n|\n|\r)")


class Output:
    """The bytes of one stream on their way out.

    Attributes:
        translate: Returns what the client gets for repaired bytes, if it speaks another
            protocol.
        cost: What an event costs that is not parsed: see `event_boundary.EVENT`.

    Args:
        on_record: Called with each `EventRecord` once all of it has been sent.
        label: Names the stream in log lines.
        verbatim: Whether newlines behind the blocks are sent as received anyway.
    """

    translate: Callable[[bytes], bytes] | None = None
    cost: int = 6

    def __init__(
        self, on_record: Callable[[EventRecord], None], label: str, *, verbatim: bool
    ) -> None:
        self.record: EventRecord | None = None
        """The record of the event at hand."""
        self.last: EventRecord | None = None
        r"""The record of one that ended in `\r`: a `\n` may still join it."""
        self.verbatim = verbatim
        """Whether the block before was sent as received, and newlines after it shall be."""
        self._on_record = on_record
        self._label = label
        self._out: list[bytes] = []
        self._begun = 0  # what had been emitted when the record was begun
        self._has_added = False  # a blank line, which may still be received

    @property
    def is_over(self) -> bool:
        """Whether a client of another protocol than chat has got its last event."""
        return False

    def drain(self) -> list[bytes]:
        """Take the bytes emitted since the last call."""
        out, self._out = self._out, []
        return out

    def add(self, data: bytes) -> None:
        """Send *data*, which is what the client gets."""
        self._out.append(data)

    def pass_on(self, data: bytes) -> None:
        """Send *data*, which belongs to no record."""
        self.add(data)

    def passed(self, data: bytes) -> bytes:
        """The bytes to send for *data*, of which nothing is repaired."""
        self.pass_on(data)
        return b"".join(self.drain())

    def emit(self, record: EventRecord, data: bytes) -> None:
        """Send *data*, which belongs to *record*."""
        record.after.append(data)
        self._out.append(data)

    def open_record(self, record: EventRecord) -> None:
        """Open a record; what `emit` sends until `close_record` may not be all of it."""
        self.record = record
        self._begun = len(self._out)

    def repaired(self, record: EventRecord) -> EventRecord:
        """Return *record*, the last one that was begun, as it is untranslated."""
        return record

    def undo(self, record: EventRecord) -> None:
        """Take back what has been emitted of *record*, which is being made."""
        for data in record.after:
            del self._out[self._out.index(data, self._begun)]
        record.after.clear()

    def close_record(self, record: EventRecord) -> None:
        """Close the record unless part of it is still held."""
        self.record = None
        self.verbatim = not record.fixes and not record.waiting  # it may be changed yet
        self._has_added = BLANK in record.fixes
        if record.before is not None and record.before.endswith(b"\r"):
            self.last = record
        self.close(record)

    def close(self, record: EventRecord) -> None:
        """Hand *record* over, unless something of it is still to come."""
        if record.waiting or record is self.record or record is self.last:
            return
        try:
            self._on_record(record)
        except Exception:  # a record cannot change bytes, nor cost any
            logger.exception("%s: event %d is not recorded", self._label, record.n)

    def settle(self) -> None:
        """Close the last record: no line end can join it any more."""
        if self.last is not None:
            record, self.last = self.last, None
            self.close(record)

    def gap(self, gap: Gap, join: Callable[[EventRecord, bytes], None]) -> None:
        """Pass newlines between blocks on, spelled as the block before was sent.

        Args:
            gap: The newlines.
            join: Called with the last record and what joins it, if that still waits.
        """
        last = self.last
        raw = gap.raw
        if self._has_added and not gap.joins:
            raw, self._has_added = _LINE_END.sub(b"", raw, count=1), False
        if gap.joins and last is not None and last.before is not None:
            last.before += gap.raw
            if last.after and last.after[-1].endswith(b"\r"):
                last.after[-1] += gap.raw
                self._out.append(gap.raw)
            else:
                join(last, gap.raw)
        elif self.verbatim:
            self._out.append(raw)  # in any protocol
        elif raw and not gap.joins:
            self._out.append(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        if not gap.joins:
            self.settle()
