"""A stream whose provider speaks its client's protocol, nearly: Responses, or Messages.

What an event means is for the protocol's reader; here bytes become events, and events bytes.
An event that the reader leaves as it is passes byte for byte, and so does what is no event
of the protocol. Behind a hole, an event that nobody can read (a newline stands for it),
nothing is made up that may have been in it: see `NativeReader.lose`. Behind one that was not read here alone, all passes as it
is: it may have begun, or ended, anything.

Nothing waits, but for a body in the place of the stream: it is whole at its end.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ...chat.chunks.chunk import Tokens
from ...protocols.answer_stream import written
from ...protocols.native_reader import NativeReader
from ...protocols.protocol import ServerEvent
from ...repair.engine.event_stream import COMMENT, EventStream
from ...repair.engine.output import Output
from ...repair.outcome import BLANK, EventRecord, Outcome
from ...wire.event_boundary import DONE
from ...wire.json_text import is_broken, loads, value_in
from ...wire.limits import MAX_EVENT
from ...wire.sse import Event

_EVENT_NAME = b"event"
DONE_FIX = "done-foreign"
"""The fix that drops chat's `[DONE]`, which neither protocol has."""
BODY_FIX = "answer-not-streamed"
"""The fix that makes a stream of a body."""
UNREADABLE_FIX = "data-unreadable"
"""The fix that sends a newline in the place of broken JSON."""

_begins_object = re.compile(rb"\s*\{").match
_may_be_event = re.compile(rb"[{}]").search
"""Finds what is in each event, and in each part of one, mostly."""


class NativeStream(EventStream):
    """One such stream. See `EventStream`.

    Args:
        reader: Says what the client gets.
        on_record: Called with each `EventRecord` once all of it has been sent.
        label: Names the stream in log lines.
    """

    def __init__(
        self, reader: NativeReader, on_record: Callable[[EventRecord], None], label: str
    ) -> None:
        output = Output(on_record, label, verbatim=True)
        super().__init__(label, output, drops_comments=reader.is_on(COMMENT))
        self.raw_events = Counter[Outcome]()
        self._reader = reader
        self._is_stream = not reader.is_on(BODY_FIX)

    def _may_be_body(self, begun: bytearray, new: int) -> bool:
        """Tell whether what has *begun* may be a JSON body."""
        return bool(_begins_object(begun)) and len(begun) <= MAX_EVENT

    def _body(self, body: bytes, broke: bool) -> None:
        """Make a stream of a *body*; what cannot be made one stays due."""
        value = None if broke else value_in(body)
        events, fixes = (
            self._reader.whole(value) if isinstance(value, dict) else ((), ())
        )
        if events:
            record = EventRecord(self.parser.count, body, fixes=[BODY_FIX])
            self.parser.count += 1
            self._due = b""
            self._emit(record, events, fixes)
            self.output.close(record)

    def keep_alive(self) -> bytes:
        """The bytes that keep the client's connection alive, between blocks."""
        events = () if self._broken else self._reader.keep_alive()
        made = written(events)
        return self.output.passed(made) if made else super().keep_alive()

    def _event(self, record: EventRecord, event: Event) -> None:
        self._memory.forget()
        data = event.data or b""
        if data.strip() == DONE and self._reader.is_on(DONE_FIX):
            record.fixed(DONE_FIX)
            self._emit(record, *self._reader.done())
            return
        value, outcome = _object_in(data, event)
        if value is None:
            self._without_object(record, event, data, outcome)
            return
        names = [line.value for line in event.lines if line.name == _EVENT_NAME]
        name = b"".join(names[-1:]).decode(errors="replace")
        events, fixes = self._reader.event(name, value)
        record.fixed(*fixes)
        is_open = not event.closed and self._reader.is_on(BLANK)
        if is_open:
            record.fixed(BLANK)
        for each in events:
            is_same = each[1] is value and each[0] == name and not is_open
            self.output.emit(record, event.raw if is_same else written([each]))
        if self._reader.words:
            self._memory.follow(record, self._reader.words)

    def _without_object(
        self, record: EventRecord, event: Event, data: bytes, outcome: Outcome
    ) -> None:
        """Send an event that has no object: a newline for one that no client can decode."""
        lost = event.raw if event.foreign else data
        if _may_be_event(lost) and (event.foreign or is_broken(lost)):
            self._reader.lose()
            # A client knows an error by its name, whatever it says.
            is_decoded = event.closed and not (event.foreign or event.names_error)
            if is_decoded and self._reader.is_on(UNREADABLE_FIX):
                record.fixed(UNREADABLE_FIX)
                self.output.emit(record, b"\n")
                return
        else:  # some clients read it
            self._broken = data.lstrip().startswith(b"{")
        self.raw_events[outcome] += 1
        self.output.emit(record, event.raw)

    def _is_unread(self, text: bytes) -> bool:
        words = loads(b'"%b"' % text) if b"\\" in text else text.decode()
        self._reader.more(words)
        if self._reader.words:
            self._memory.count_on()
        else:
            self._memory.forget()
        return True

    def _emit(
        self, record: EventRecord, events: Sequence[ServerEvent], fixes: Sequence[str]
    ) -> None:
        record.fixed(*fixes)
        for each in events:
            self.output.emit(record, written([each]))

    def _conclude(self) -> None:
        events, fixes = self._reader.end()
        if events:
            record = EventRecord(self.parser.count, None)
            self._emit(record, events, fixes)
            self.output.close(record)

    def _bail(self, failed: EventRecord | None) -> None:
        self._broken = True
        self._memory.forget()

    def _pass_by(self, *, last: bool = False) -> None:
        self._broken = True

    @property
    def waiting(self) -> object:
        """What waits for 100 ms only: an event that may go on on its next line."""
        return self.parser.may_end or None

    @property
    def holds(self) -> bool:
        """Whether anything that was understood has not been sent."""
        return bool(self._begun)

    @property
    def tokens(self) -> Tokens:
        """What the last usage counted."""
        return self._reader.tokens

    @property
    def is_done(self) -> bool:
        """Whether the client has the last event of its protocol."""
        return self._reader.is_over

    def conclude(self) -> bool:
        """Let the stream end here, if it is complete by its own word; tell whether it is."""
        reader = self._reader
        is_whole = reader.is_over or reader.is_complete
        if self._broken or not (self.is_between and is_whole):
            return False
        self.parser.give_up()
        return True

    def abandon(self) -> bool:
        """Close the records of a stream that broke off; nothing of it waits."""
        self.output.settle()
        return False


def _object_in(data: bytes, event: Event) -> tuple[dict[str, Any] | None, Outcome]:
    """The object that an event says, or why there is none."""
    if event.foreign:
        return None, Outcome.FOREIGN_LINE
    try:
        value = loads(data)
    except (ValueError, RecursionError):
        return None, Outcome.NOT_JSON
    if not isinstance(value, dict):
        return None, Outcome.NOT_A_CHUNK
    return value, Outcome.UNDERSTOOD
