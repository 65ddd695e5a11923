"""Event to fixes to the machine to bytes: what happens to a stream, without any I/O.

Unchanged events are sent as the bytes that were received. Every block is one `EventRecord`,
which `on_record` gets when all of it has been sent.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from ...chat.chunks.chunk import Tokens
from ...chat.state.asked import Asked
from ...chat.state.said_answer import GrowingText, SaidAnswer
from ...chat.state.sent_call import SentCall
from ...chat.state.stream_state import Seen
from ...wire.json_text import loads
from ...wire.sse import Event
from ..fix import Fix
from ..outcome import EventRecord
from .event_repair import EventRepair
from .event_stream import COMMENT, OVER, Count, EventStream
from .fix_chain import Chain
from .fix_plan import FixPlan, plan_of
from .output import Output
from .text_memory import ARGUMENTS, TextMemory

logger = logging.getLogger(__name__)


class Pipeline(EventStream):
    """One stream of chat: bytes in, repaired bytes out.

    Args:
        asked: What the request asked.
        fixes: The classes of the fixes to apply, in order, or their plan.
        on_record: Called with each `EventRecord` once all of it has been sent.
        label: Names the stream in log lines.
        count: Called in place of *on_record* with an event that was changed as the last
            ones: its number, its bytes before and after, what is around its text.
        make_output: Makes what sends: see `Output`.
    """

    def __init__(
        self,
        asked: Asked,
        fixes: Sequence[type[Fix]] | FixPlan,
        on_record: Callable[[EventRecord], None] = lambda _: None,
        label: str = "stream",
        count: Count | None = None,
        make_output: Callable[..., Output] = Output,
    ) -> None:
        self.seen = Seen()
        plan = plan_of(fixes)
        verbatim = "line-end-cr" not in plan.names
        output = make_output(on_record, label, verbatim=verbatim)
        super().__init__(label, output, count, drops_comments=COMMENT in plan.names)
        # These grow with the texts of events that are known.
        self._growing: GrowingText | None = None
        self._opened: SentCall | None = None
        self._chain = chain = Chain(plan, asked, self.seen, label)
        self.event_repair = EventRepair(asked, chain, self.seen, self.parser, output)
        """Parses and repairs events."""
        self.raw_events = self.event_repair.raw_events
        self._machine = self.event_repair.machine

    def _is_unread(self, text: bytes) -> bool:
        if self._chain.readers and self._chain.reads(text):
            return False
        if self._opened is not None:
            return self._opened.takes(str(loads(b'"%b"' % text)))
        if self._growing is not None:
            self._growing.add(text)
        return True

    def _conclude(self) -> None:
        n = self.seen.n = self.parser.count
        self.event_repair.flush(n)
        self._machine.end(n)

    def _pass_by(self, *, last: bool = False) -> None:
        self.seen.n = self.parser.count if last else self.seen.n
        self._machine.flush_before(self.parser.count, last=last)
        if not last:
            self._machine.unknown_event()

    def _join(self, record: EventRecord, data: bytes) -> None:
        self._machine.join(record, data)

    @property
    def waiting(self) -> object:
        """What waits for 100 ms only, to be compared; None if nothing does.

        Never raises: on a bug, all that waits is sent with what is received next.
        """
        if self._rests and self.parser.is_between:
            return None
        try:
            mark = self._machine.state.mark
            found = self._chain.waiting_briefly, mark, self.parser.may_end
        except Exception:
            logger.exception(OVER, self.label)
            self._bail(None)
        return None if self._broken or not any(found) else found

    @property
    def holds(self) -> bool:
        """Whether anything that was understood has not been sent."""
        has_held_data = self._machine.state.has_held_data
        return bool(self._begun) or self._chain.waits or has_held_data

    @property
    def tokens(self) -> Tokens:
        """What the last usage counted."""
        return self.seen.tokens

    @property
    def said(self) -> SaidAnswer | None:
        """What the client may not send back of an answer that has come to its finish."""
        seen = self.seen
        return seen.said if seen.choice(0).finished and not seen.error else None

    def allow_body(self, most: int) -> None:
        """Repair a body of up to *most* bytes: all of it has come."""
        self.event_repair.largest_body = most

    @property
    def is_done(self) -> bool:
        """Whether the client has the last event of its protocol: `[DONE]`, in chat."""
        return self._machine.state.done or self.output.is_over

    def conclude(self) -> bool:
        """Let the stream end here, if it is complete by its own word; tell whether it is.

        What has come of another event is dropped then; `end` returns what is still sent.
        """
        is_complete = self.output.is_over or self._machine.is_complete
        if self._broken or not (self.is_between and is_complete):
            return False
        self.parser.give_up()
        return True

    def _wait_no_more(self, silent: bool, last: bool) -> None:
        self.seen.n = n = max(self.parser.count - 1, 0)
        if last:
            self.event_repair.flush(n)
        self._machine.release(n, silent=silent, last=last)

    def _bail(self, failed: EventRecord | None) -> None:
        """Send all that waits as it is, but nothing of the record that *failed*."""
        self._broken = True
        self._memory = TextMemory()
        n = failed.n if failed else self.parser.count
        if failed:
            self._chain.undo(n)
        for release in (self._send_held, self._machine.give_up):
            try:
                release(n, failed)
            except Exception:
                logger.exception("%s: a part that waited is lost", self.label)

    def _send_held(self, n: int, _: EventRecord | None) -> None:
        """Send what the fixes hold before block *n*."""
        for held in (self._chain.flush, partial(self._chain.end, indexes=None)):
            for outgoing in held(EventRecord(n - 1, None)):
                self.output.emit(outgoing.record, outgoing.encode())

    def abandon(self) -> bool:
        """Close the records of a stream that broke off.

        Returns:
            Whether something that was received has not been sent: a finish reason, say.
        """
        self.output.settle()
        record = EventRecord(self.parser.count, None)
        held = [*self._chain.flush(record), *self._chain.end(record, None)]
        return self._machine.abandon() or bool(held or self._begun)

    def _event(self, record: EventRecord, event: Event) -> None:
        self.event_repair.event(record, event)

    def _learn(self, record: EventRecord) -> None:
        """Remember what is around the text of the last event, if nothing waits."""
        text, self.event_repair.text = self.event_repair.text, None
        try:
            if (
                text is not None
                and text.record is record
                and self._chain.plan.of_held_data.isdisjoint(record.fixes)
            ):
                if self._translate is not None:
                    record = self.output.repaired(record)
                self._memory.learn(record, text.chunk)
                index, keys = text.chunk["choices"][0]["index"], self._memory.keys
                if self._chain.watch(index, keys):
                    calls = ARGUMENTS in keys
                    self._opened = self.seen.opened_in(text.chunk) if calls else None
                    self._growing = self.seen.said.growing(() if index else keys)
                    self._rests = True
                    return
        except Exception:
            logger.exception("%s: nothing is remembered", self.label)
        self._memory.forget()
