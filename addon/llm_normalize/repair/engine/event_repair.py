"""Repairs one event: it is parsed, repaired, and sent as the stream's end allows."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from ...chat.chunks.chunk import choices
from ...chat.chunks.chunk_form import is_chunk
from ...chat.errors.chunk_errors import is_error
from ...chat.errors.failed_event import may_be_chunk
from ...chat.state.asked import Asked
from ...chat.state.stream_state import Seen
from ...wire.event_boundary import DONE, EVENT, LINES, MARKS
from ...wire.json_text import Json, loads
from ...wire.sse import Event, EventParser
from ..look import Finding
from ..machine import error_words
from ..machine.machine import Machine
from ..outcome import ChunkSender, EventRecord, Outcome, Outgoing
from . import payload as payloads
from .event_stream import COMMENT
from .fix_chain import Chain
from .output import Output

BODY = 2 * 1024 * 1024
"""Bytes of a body that is repaired within a stream: it takes longer than an event does."""
_PARTS = 192
"""Tool calls of one event, and events on one line. What has more passes raw."""
_COMMENT_LINES = re.compile(rb"^:[^\r\n]*+\n", re.MULTILINE)


class EventRepair:
    """Parses and repairs the events of one stream.

    Args:
        asked: What the request asked.
        chain: The fixes to apply.
        seen: Records what has been sent.
        parser: Knows how much may still be looked at.
        output: What sends.
    """

    def __init__(
        self,
        asked: Asked,
        chain: Chain,
        seen: Seen,
        parser: EventParser,
        output: Output,
    ) -> None:
        self.largest_body = BODY
        self.raw_events: Counter[Outcome] = Counter()
        """Events that passed unread, by reason."""
        self._is_last = False  # nothing follows the event at hand
        self._sender = ChunkSender(output, chain.ride)
        self.machine = Machine(asked, seen, chain.plan.names, self._sender, self.close)
        self._chain, self._seen = chain, seen
        self._parser, self._output = parser, output
        self._drops_comments = COMMENT in chain.plan.names
        self.text: Outgoing | None = None
        """The last chunk of the event at hand, if it is a text that went on at once."""

    def event(self, record: EventRecord, event: Event) -> None:
        """Send what becomes of *event*, as part of *record*."""
        seen = self._seen
        self._parser.budget_left -= (len(seen.choices) + seen.calls) // 2
        if event.is_value and len(event.raw) > self.largest_body:
            self._pass(record, event.raw, Outcome.TOO_LARGE)
            return
        seen.n, seen.is_value, self._is_last = event.n, event.is_value, event.is_last
        self.machine.state.cut = False  # the last block was followed after all
        payload = event.payload()
        if payload is not None:
            outcome = self._payload(record, payload, event.raw)
            if outcome is Outcome.UNDERSTOOD:
                return
            if not outcome.may_be_framing:
                self._pass(record, event.raw, outcome, payload)
                return
        self._reframe(record, event)

    def _reframe(self, record: EventRecord, event: Event) -> None:
        """Send what becomes of *event*, whose framing is not OpenAI's."""
        closed = event.closed  # a fix may close it, and drop its name
        names_error = event.names_error
        framed = self._frame(record, event)
        for each in framed:
            raw = each.encode() if record.fixes else event.raw
            if not each.closed and each.data != DONE:
                self.make_way(record.n)
            outcome = self._framed(record, each, raw)
            if outcome is Outcome.UNDERSTOOD:
                continue
            if len(framed) == 1 and outcome is not Outcome.BAD_ENCODING:
                # Not ours to reframe: the client's parser may know what it is.
                record.fixes.clear()
                # Amid a stream line ends part the events; at its end one is cut off.
                raw, each.closed = event.raw, closed or not self._is_last
                if not closed:
                    self.make_way(record.n)
            if not self._replace(record, each, outcome):
                self._pass(record, raw, outcome, each.data or b"")
        if names_error:  # whatever it says: no success is made up after it
            self.machine.state.doubtful = True

    def _pass(
        self, record: EventRecord, data: bytes, reason: Outcome, payload: bytes = b""
    ) -> None:
        """Send what is not understood as it is; of *payload* clients may read a chunk."""
        value = payloads.replaced(payload, reason)
        if (
            is_chunk(value)
            and choices(value)
            and not payloads.is_failure(value, self._seen)
        ):
            error_words.drop(self.machine.state)
            self.machine.unmodified_chunk(Outgoing(record, value, data))
            self._seen.is_unsure = True
            self._seen.lose(value)
        else:
            self.machine.unknown_event()
            # What is cut off at the end of the stream has nothing behind it.
            if not self._is_last and (
                reason is Outcome.BAD_ENCODING
                or (reason.is_unreadable and may_be_chunk(payload or data))
            ):
                self._seen.lose()
            if DONE in data:  # by their own framing
                self.make_way(record.n)
        self.raw_events[reason] += 1
        self._output.emit(record, data)

    def _replace(self, record: EventRecord, event: Event, outcome: Outcome) -> bool:
        """Send what the fixes make of *event*, which no client can read, if anything."""
        if self._seen.is_value or not outcome.is_unreadable:
            return False  # without a field name clients skip it
        self._parser.budget_left -= EVENT
        made = self._chain.unread(record, event)
        for each in made or ():
            if each.may_be_noise:
                self._hold_words(record, each)
            else:
                raw = each.encode()
                outcome = self._framed(record, each, raw)
                if outcome is not Outcome.UNDERSTOOD:
                    self._pass(record, raw, outcome, each.data or b"")
                if payloads.may_tell_failure(event.raw):
                    self.machine.state.doubtful = True  # no success is made up after it
            if each.is_hole:
                self._seen.lose()
        return made is not None

    def _hold_words(self, record: EventRecord, event: Event) -> None:
        """Hold an error that is one only if the stream does not go on."""
        sent = EventRecord(record.n, None)  # what is fixed only if it is sent
        error = self._chain.error(sent, loads(event.data or b""))
        error_words.hold(self.machine.state, Outgoing(record, error, None), sent.fixes)

    def _frame(self, record: EventRecord, event: Event) -> list[Event]:
        """The events that the framing fixes make of *event*; none if it passes as it is."""
        unframed = event
        if event.raw.count(b"\n") + event.raw.count(b"\r") > LINES:
            bare = _COMMENT_LINES.sub(b"", event.raw) if self._drops_comments else b""
            if not 0 < bare.count(b"\n") < LINES:
                self._pass(record, event.raw, Outcome.TOO_MANY)
                return []
            event = Event(bare, event.n, event.closed)
            record.fixed(COMMENT)
        framed = self._chain.frame(record, event)
        self._parser.budget_left -= (len(framed) - 1) * EVENT
        if len(framed) <= _PARTS:
            return framed
        record.fixes.clear()
        self._pass(record, unframed.raw, Outcome.TOO_MANY)
        return []

    def make_way(self, n: int) -> None:
        """Send all that is held before block *n*, which nothing can follow."""
        self.flush(n - 1)
        self.machine.flush_before(n, last=True)

    def _framed(self, record: EventRecord, event: Event, raw: bytes) -> Outcome:
        """Send *event* as the framing fixes made it, if it is understood."""
        if event.foreign:
            return Outcome.FOREIGN_LINE
        data = event.data
        if data is None:
            self._output.emit(record, raw)
            return Outcome.UNDERSTOOD
        return self._payload(record, data, raw)

    def _payload(self, record: EventRecord, payload: bytes, raw: bytes) -> Outcome:
        """Send the event with this *payload*, if it is understood."""
        if payload == DONE:
            if not self.machine.state.done:
                self.flush(record.n - 1)
            self.machine.done(Outgoing(record, {}, raw))
            return Outcome.UNDERSTOOD
        if len(payload) > payloads.FEW and not self._affords(payload):
            return Outcome.TOO_MANY
        value, outcome = payloads.decode(payload)
        if outcome is not Outcome.UNDERSTOOD:
            return outcome
        if payloads.is_ordinary(value):
            if value["choices"]:
                self._seen.has_choices = True
        elif (other := self._other(record, value, raw)) is not None:
            return other
        if self.machine.state.words and (
            choices(value) or self.machine.state.all_finished
        ):
            # Before what follows them counts as sent.
            error_words.drop(self.machine.state)
        for outgoing in self._chain.run(record, value, payload, raw):
            self._send(record, outgoing)
        return Outcome.UNDERSTOOD

    def _send(self, record: EventRecord, outgoing: Outgoing) -> None:
        """Send what the fixes have made, or hand it to the machine."""
        seen, chunk, found = self._seen, outgoing.chunk, outgoing.found
        self.text = None
        is_alone = found & Finding.GOES_ON and not found & ~Finding.TEXT_ALONE
        if is_alone and self.machine.lets_pass(outgoing):
            if found & Finding.ARGUMENTS:
                seen.note_arguments(chunk)
            else:
                seen.note_text(chunk)
            self._sender.send(outgoing)
            self.text = outgoing
        elif "choices" not in chunk and is_error(chunk):
            self.flush(record.n - 1)
            self._error(outgoing)
        else:
            seen.note(chunk)
            self.machine.chunk(outgoing)

    def _other(self, record: EventRecord, value: Json, raw: bytes) -> Outcome | None:
        """The outcome of a *value* that is not a chunk; None for a chunk."""
        parts = payloads.parts(value)
        self._parser.budget_left -= parts * EVENT // 2
        if parts > payloads.CALL * _PARTS:
            return Outcome.TOO_MANY
        if payloads.is_failure(value, self._seen):
            self.flush(record.n - 1)
            self._error(Outgoing(record, value, raw))
            return Outcome.UNDERSTOOD
        return None if payloads.is_answer(value, self._seen) else Outcome.NOT_A_CHUNK

    def _affords(self, payload: bytes) -> bool:
        """Charge the cost of *payload*; tell whether it is not too much."""
        cost = payloads.cost(payload)
        self._parser.budget_left -= cost
        return cost <= MARKS // 2

    def _error(self, outgoing: Outgoing) -> None:
        known = len(outgoing.record.fixes)
        outgoing.chunk = self._chain.error(outgoing.record, outgoing.chunk)
        if len(outgoing.record.fixes) != known:
            outgoing.raw = None
        self.machine.error(outgoing)

    def flush(self, n: int) -> None:
        """Send what fixes still hold after event *n*."""
        record = EventRecord(n, None)
        self._drain(record, self._chain.flush(record), self.machine.chunk)
        if record.fixes:
            self._output.close(record)

    def close(
        self, record: EventRecord, indexes: set[int] | None, *, briefly: bool = False
    ) -> None:
        """Send what fixes hold of choices that end, all if None, as part of *record*.

        If *briefly*, only what is held no longer than 100 ms.
        """
        held = self._chain.end(record, indexes, briefly=briefly)
        self._drain(record, held, self._sender.send)

    def _drain(
        self,
        record: EventRecord,
        held: Iterator[Outgoing],
        send: Callable[[Outgoing], None],
    ) -> None:
        for outgoing in held:
            sent = len(record.after) + record.waiting
            try:
                self._seen.note(outgoing.chunk)
                send(outgoing)
            except Exception:  # the fixes do not hold it any more
                unsent = [] if len(record.after) + record.waiting > sent else [outgoing]
                for each in (*unsent, *held):
                    self._output.emit(record, each.encode())
                raise
