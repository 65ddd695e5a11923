"""Event to fixes to the machine to bytes: what happens to a stream, without any I/O.

Unchanged events are sent as the bytes that were received. Every block is one `EventRecord`,
which `observe` gets when all of it has been sent.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ...chat.chunks.chunk import Tokens
from ...chat.state.said_answer import GrowingText, SaidAnswer
from ...chat.state.stream_state import Asked, Seen
from ...wire.event_boundary import EVENT
from ...wire.sse import Comments, Event, EventParser, Gap, Item, Oversized
from ..fix import Fix
from ..outcome import EventRecord, Outcome
from .event_repair import COMMENT, EventRepair
from .fix_chain import Chain
from .fix_plan import FixPlan, plan_of
from .output import Output
from .payload import FEW
from .text_memory import Around, TextMemory

logger = logging.getLogger(__name__)

_OVER = "%s: repair failed, the rest passes as it is"

STREAM_BUDGET = 256 * EVENT
"""Budget of each stream per turn: so many events, or parts of them."""
SHARED_BUDGET = 320 * EVENT
"""Budget shared by all streams per turn: enough for one 64 KiB read of 120-byte events.

If the events of a read are all different, those beyond the budget pass unrepaired. Those
that differ in their text alone cost next to nothing (text_memory.py).
"""
_SHOWN = 50
"""Comments of one run that have a record of their own; the others share one."""
_BYTES = 7  # 128 of them cost as much as a bracket
_ALL_COMMENTS = re.compile(rb"(?::[^\r\n]*+\n)++\n?").fullmatch

type Count = Callable[[int, bytes, bytes, Around], None]
"""Counts an event that was changed as the last ones."""


class Pipeline:
    """One stream: bytes in, repaired bytes out.

    Args:
        asked: What the request asked.
        fixes: The classes of the fixes to apply, in order, or their plan.
        observe: Called with each `EventRecord` once all of it has been sent.
        label: Names the stream in log lines.
        count: Called in place of *observe* with an event that was changed as the last
            ones: its number, its bytes before and after, what is around its text.
        make_output: Makes what sends: see `Output`.
    """

    def __init__(
        self,
        asked: Asked,
        fixes: Sequence[type[Fix]] | FixPlan,
        observe: Callable[[EventRecord], None] = lambda _: None,
        label: str = "stream",
        count: Count | None = None,
        make_output: Callable[..., Output] = Output,
    ) -> None:
        self.seen = Seen()
        plan = plan_of(fixes)
        self._parser = EventParser()
        self.label = label
        """Names the stream in log lines."""
        verbatim = "line-end-cr" not in plan.names
        self._drops_comments = COMMENT in plan.names
        self.output = output = make_output(observe, label, verbatim=verbatim)
        # Nothing below refers to this: a stream that nobody refers to shall be gone at
        # once, not when Python's collector halts all streams to find it.
        self._memory = TextMemory()
        self._growing: GrowingText | None = (
            None  # with the texts of events that are known
        )
        self._count = count
        self._translate = output.translate
        self._chain = chain = Chain(plan, asked, self.seen, label)
        self.event_repair = EventRepair(asked, chain, self.seen, self._parser, output)
        """Parses and repairs events."""
        self._machine = self.event_repair.machine
        self._large = 0  # blocks begun when the last one too large was met
        self._rests = False  # nothing waits behind the last event
        self._broken = False  # a bug was met: all passes raw
        self._unread = False  # it was the parser's: not even blocks are recognised
        self._due = b""  # bytes of the block at hand that have not been sent
        self.comments = 0
        """Blocks that were only comments: they tell nothing but that the provider is there."""

    @property
    def raw_events(self) -> Counter[Outcome]:
        """Events that passed unread, by reason."""
        return self.event_repair.raw_events

    @property
    def events(self) -> int:
        """Blocks begun so far."""
        return self._parser.count

    @property
    def budget_left(self) -> float:
        """The budget left for what follows: see `SHARED_BUDGET`."""
        return self._parser.budget_left

    def refill(self, budget_left: float) -> None:
        """Set the budget for what follows."""
        self._parser.budget_left = budget_left

    def feed(self, data: bytes) -> list[bytes]:
        """The bytes to send when *data* is received, maybe none. Never raises."""
        out: list[bytes] = []
        parser = self._parser
        parser.budget_left -= len(data) >> _BYTES
        may_read = parser.budget_left >= 0
        try:
            while may_read and (end := data.find(b"\n\n") + 2) > 2:  # noqa: PLR2004
                raw = data[:end]
                is_known = self._memory.known is not None
                known = self.known(raw) if is_known else None
                if known is not None:
                    parser.budget_left -= self.output.cost
                    out += [known] if known else []
                else:
                    event = parser.framed(raw) if parser.budget_left >= 0 else None
                    if event is None:
                        break
                    self._due = raw
                    try:
                        self._repair(event)
                    except Exception:
                        logger.exception(_OVER, self.label)
                        self._fail()
                    out += self.output.drain()
                data = data[end:]
            if not data:
                return out
        except Exception:
            logger.exception(_OVER, self.label)
            self._pass_unread(parser.give_up() + data)
        else:
            self._run(data)
        return out + self.output.drain()

    def known(self, raw: bytes, n: int | None = None) -> bytes | None:
        """The bytes to send for *raw*, if it is an event like the last ones; else None.

        Most events go no further than here. Empty if a translation holds its text back.

        Args:
            raw: What was received.
            n: Its place in the stream, if it has been taken for an event already.
        """
        around = self._memory.known
        if around is None or len(raw) > FEW:
            return None
        if not (text := around.text_in(raw)):
            return None
        parser, out = self._parser, raw
        if n is None:
            if not parser.is_between:
                return None
            n = parser.count
            parser.count += 1
        if self._growing is not None:
            self._growing.add(text)
        self.output.verbatim = not around.fixes
        if around.fixes:
            out = text.join(around.sent)
        if self._translate is not None:
            out = self._translate(out)
        if out != raw:
            self._record(n, raw, out, around)
        return out

    def _record(self, n: int, raw: bytes, out: bytes, around: Around) -> None:
        """Have the change of an event that was known recorded."""
        if self._count is None:
            after = [out] if out else []
            self.output.close(EventRecord(n, raw, after, list(around.fixes)))
            return
        try:
            self._count(n, raw, out, around)
        except Exception:  # a record cannot change bytes, nor cost any
            logger.exception("%s: event %d is not recorded", self.label, n)

    def end(self) -> list[bytes]:
        """The bytes to send at a clean end of the stream. Never raises."""
        self.event_repair.has_ended = True
        self._run(b"")
        self.event_repair.has_ended = False  # an empty HTTP/2 frame is no end
        self._guarded(self._end)
        return self.output.drain()

    def _end(self) -> None:
        self._memory.forget()
        self.output.settle()
        if self._broken:
            return
        self.seen.n = self._parser.count
        if self._parser.in_oversized:
            self._machine.flush_before(self._parser.count, last=True)
        self.event_repair.flush(self._parser.count)
        self._machine.end(self._parser.count)

    @property
    def waiting(self) -> object:
        """What waits for 100 ms only, to be compared; None if nothing does.

        Never raises: on a bug, all that waits is sent with what is received next.
        """
        if self._rests and self._parser.is_between:
            return None
        try:
            mark = self._machine.state.mark
            found = self._chain.waiting_briefly, mark, self._parser.may_end
        except Exception:
            logger.exception(_OVER, self.label)
            self._bail(None)
        return None if self._broken or not any(found) else found

    @property
    def holds(self) -> bool:
        """Whether anything that was understood has not been sent."""
        return self._chain.waits or self._machine.state.has_held_data

    @property
    def tokens(self) -> Tokens:
        """What the last usage counted."""
        return self.seen.tokens

    @property
    def said(self) -> SaidAnswer | None:
        """What the client may not send back of an answer that has come to its finish."""
        seen = self.seen
        return seen.said if seen.choice(0).finished and not seen.error else None

    @property
    def is_between(self) -> bool:
        """Whether what has been sent so far ends with a block."""
        return not (self._unread or self._parser.in_oversized)

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
        self._parser.give_up()
        return True

    def release(self, *, silent: bool = False, last: bool = False) -> list[bytes]:
        """The bytes that have waited long enough, in their present form. Never raises.

        Args:
            silent: Whether that is long enough for what waits for the next event, too.
            last: Whether nothing follows, since the stream breaks off.
        """
        self._guarded(self._wait_no_more, silent, last)
        return self.output.drain()

    def _wait_no_more(self, silent: bool, last: bool) -> None:
        for item in self._parser.cut():
            self._guarded(self._item, item)
        self._memory.forget()
        self.output.settle()
        if self._broken or not self.is_between:
            return
        self.seen.n = n = max(self._parser.count - 1, 0)
        if last:
            self.event_repair.flush(n)
        self._machine.release(n, silent=silent, last=last)

    def rescue(self) -> bytes:
        """Return all that waits, as received: the repair of this stream is over."""
        self._bail(None)
        return self.output.passed(self._parser.give_up())

    def _bail(self, failed: EventRecord | None) -> None:
        """Send all that waits as it is, but nothing of the record that *failed*."""
        self._broken = True
        self._memory = TextMemory()
        n = failed.n if failed else self._parser.count
        if failed:
            self._chain.undo(n)
        for release in (self._release, self._machine.give_up):
            try:
                release(n, failed)
            except Exception:
                logger.exception("%s: a part that waited is lost", self.label)

    def _release(self, n: int, _: EventRecord | None) -> None:
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
        record = EventRecord(self._parser.count, None)
        held = [*self._chain.flush(record), *self._chain.end(record, None)]
        return self._machine.abandon() or bool(held)

    # -- one block after another -----------------------------------------------

    def _run(self, data: bytes) -> None:
        """Process the blocks that *data* completes; nothing is the stream's end."""
        self._rests = False
        if self._unread:
            self.output.pass_on(data)
            return
        held, done = self._parser.held, 0
        items = self._items(data)
        while True:
            try:
                item = next(items, None)
            except Exception:
                logger.exception(_OVER, self.label)
                unread = self._parser.give_up()
                # What it gave up may have begun to hold *data*, too.
                before, behind = max(held - done, 0), max(done - held, 0)
                self._pass_unread(unread[:before] + data[behind:])
                return
            if item is None:
                return
            done += len(item.raw)
            self._guarded(self._item, item)

    def _items(self, data: bytes) -> Iterator[Item | Comments]:
        yield from self._parser.read(data) if data else self._parser.end()

    def _item(self, item: Item | Comments) -> None:
        self._due = item.raw
        match item:
            case Gap():
                self.output.gap(item, self._machine.join)
            case Oversized():
                self._memory.forget()
                self.output.settle()
                self._machine.flush_before(self._parser.count, last=False)
                self._machine.unknown_event()
                if item.is_many:
                    self.event_repair.raw_events[Outcome.TOO_MANY] += 1
                elif self._large != self._parser.count:  # not its next part
                    self._large = self._parser.count
                    self.event_repair.raw_events[Outcome.TOO_LARGE] += 1
                self.output.verbatim = True
                self.output.pass_on(item.raw)
            case Comments():
                self.output.settle()
                self._comments(item)
            case _ if _ALL_COMMENTS(item.raw):
                self.output.settle()
                self._comments(Comments(item.raw, item.n, 1))
            case _:
                self.output.settle()
                self._handle(item)

    def _handle(self, event: Event) -> None:
        known = self.known(event.raw, event.n)
        if known is not None:
            self._parser.budget_left -= self.output.cost
            self.output.add(known)
            self._due = b""
        else:
            self._repair(event)

    def _repair(self, event: Event) -> None:
        """Send what becomes of *event*, which nothing knows."""
        if self.output.last is not None:
            self.output.settle()
        self._rests = False
        seen = self.seen
        self._parser.budget_left -= EVENT + (len(seen.choices) + seen.calls) // 2
        record = EventRecord(event.n, event.raw)
        self.output.open_record(record)
        if self._broken:
            self.output.emit(record, event.raw)
        else:
            try:
                self.event_repair.event(record, event)
            except Exception:
                logger.exception(_OVER, self.label)
                self._fail()
        self._due = b""
        self.output.close_record(record)
        self._learn(record)

    def _learn(self, record: EventRecord) -> None:
        """Remember what is around the text of the last event, if nothing waits."""
        text = self.event_repair.text
        try:
            if text is not None and text.record is record:
                watched = self._chain.watched
                if watched is not None:
                    if self._translate is not None:
                        record = self.output.repaired(record)
                    self._memory.learn(record, text.chunk, watched)
                    is_first = not text.chunk["choices"][0].get("index")
                    keys = self._memory.keys if is_first else ()
                    self._growing = self.seen.said.growing(keys)
                    self._rests = True
                    return
        except Exception:
            logger.exception("%s: nothing is remembered", self.label)
        self._memory.forget()

    def _comments(self, item: Comments) -> None:
        """Send a bare newline for each comment, now: nothing else depends on them."""
        self.comments += item.count
        self.output.verbatim = not self._drops_comments or self._broken
        if self.output.verbatim:
            self.output.pass_on(item.raw)
            return
        *found, rest = item.raw.split(b"\n\n", _SHOWN)
        for at, comment in enumerate(found):
            self._drop(item.n + at, comment + b"\n\n", 1)
        if rest:
            self._drop(item.n + len(found), rest, item.count - len(found))

    def _drop(self, n: int, comments: bytes, count: int) -> None:
        record = EventRecord(n, comments, fixes=[COMMENT])
        self.output.emit(record, b"\n" * count)
        self._due = self._due[len(comments) :]
        self.output.close(record)

    def _guarded[*Of](self, act: Callable[[*Of], None], *of: *Of) -> None:
        """Run *act*; on a bug send all that waits as received, and repair no more."""
        try:
            act(*of)
        except Exception:
            logger.exception(_OVER, self.label)
            self._fail()

    def _pass_unread(self, data: bytes) -> None:
        """Pass *data*, and all that follows, without looking for events."""
        self._unread = True
        self._due = data
        self._fail()

    def _fail(self) -> None:
        """Send what waits, and what is due of the block at hand, each as received."""
        due, self._due = self._due, b""
        record = self.output.record if due else None
        if record is None:
            self._bail(None)
            if due:
                self.output.pass_on(due)
            return
        self.output.undo(record)
        self._bail(record)
        record.fixes.clear()
        self.output.emit(record, due)
