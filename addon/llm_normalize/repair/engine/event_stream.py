"""Blocks to bytes, in order: what any stream of events passes, whatever its events mean.

Unchanged events are sent as the bytes that were received. Every block is one `EventRecord`,
which is handed over when all of it has been sent. What an event means is for those derived
from this: chat's repair (`pipeline`) and that of other protocols
(`exchange/stream/native_stream.py`).
"""

import logging
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator

from ...chat.chunks.chunk import Tokens
from ...chat.state.said_answer import SaidAnswer
from ...wire.event_boundary import EVENT
from ...wire.sse import Comments, Event, EventParser, Gap, Item, Oversized
from ..outcome import EventRecord, Outcome
from .output import Output
from .payload import FEW
from .text_memory import Around, TextMemory

logger = logging.getLogger(__name__)

COMMENT = "comment-sent"
"""The fix that drops comments."""
OVER = "%s: repair failed, the rest passes as it is"
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


class EventStream(ABC):
    """One stream: bytes in, repaired bytes out.

    Args:
        label: Names the stream in log lines.
        output: Sends.
        count: Called with an event that was changed as the last ones, in the place of what
            *output* calls with a record: its number, its bytes before and after, what is
            around its text.
        drops_comments: Whether a comment becomes a bare newline.

    Attributes:
        raw_events: Events that passed unread, by reason.
    """

    raw_events: Counter[Outcome]

    def __init__(
        self,
        label: str,
        output: Output,
        count: Count | None = None,
        *,
        drops_comments: bool,
    ) -> None:
        self.parser = EventParser()
        """Finds the events, and holds the budget left for what follows: see `SHARED_BUDGET`."""
        self.label = label
        """Names the stream in log lines."""
        self.output = output
        self._drops_comments = drops_comments
        # Nothing below refers to this: a stream that nobody refers to shall be gone at
        # once, not when Python's collector halts all streams to find it.
        self._memory = TextMemory()
        self._translate = output.translate
        self._count = count
        self._large = 0  # blocks begun when the last one too large was met
        self._rests = False  # nothing waits behind the last event
        self._broken = False  # a bug was met: all passes raw
        self._unread = False  # it was the parser's: not even blocks are recognised
        self._due = b""  # bytes of the block at hand that have not been sent
        self._begun = bytearray()
        """What has come of a body that may be no stream of events."""
        self._is_stream = False  # it is one
        self.comments = 0
        """Blocks that were only comments: they tell nothing but that the provider is there."""

    # -- what an event means -----------------------------------------------------------

    @abstractmethod
    def _event(self, record: EventRecord, event: Event) -> None:
        """Send what becomes of *event*, as part of *record*."""

    def _learn(self, record: EventRecord) -> None:  # noqa: B027 - it saves time alone
        """Remember what is around the text of the last event, if nothing waits."""

    @abstractmethod
    def _is_unread(self, text: bytes) -> bool:
        """Take the *text* of an event that is known; tell if it need not be parsed."""

    @abstractmethod
    def _pass_by(self, *, last: bool = False) -> None:
        """Let what waits go before a block that is too large; *last* at the end."""

    def _may_be_body(self, begun: bytearray, new: int) -> bool:
        """Tell whether what has *begun*, *new* bytes of it now, may be no stream of events."""
        return False

    def _body(self, body: bytes, broke: bool) -> None:  # noqa: B027 - as above
        """Send what becomes of a *body* that may be no stream; else it stays due.

        Args:
            body: All of it.
            broke: Whether it breaks off.
        """

    def _join(self, record: EventRecord, data: bytes) -> None:  # noqa: B027 - in few does anything
        """Add *data* to the end of *record*, of which something still waits."""

    @abstractmethod
    def _bail(self, failed: EventRecord | None) -> None:
        """Send all that waits as it is, but nothing of the record that *failed*."""

    @abstractmethod
    def _conclude(self) -> None:
        """Send what is to be sent at a clean end."""

    def _wait_no_more(self, silent: bool, last: bool) -> None:  # noqa: B027 - as above
        """Send what has waited long enough, see `release`."""

    @property
    @abstractmethod
    def waiting(self) -> object:
        """What waits for 100 ms only, to be compared; None if nothing does. Never raises."""

    @property
    @abstractmethod
    def holds(self) -> bool:
        """Whether anything that was understood has not been sent."""

    @property
    @abstractmethod
    def tokens(self) -> Tokens:
        """What the last usage counted."""

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether the client has the last event of its protocol: `[DONE]`, in chat."""

    @property
    def said(self) -> SaidAnswer | None:
        """What the client may not send back of an answer that has come to its finish."""
        return None

    def allow_body(self, most: int) -> None:  # noqa: B027 - most have no such bound
        """Repair a body of up to *most* bytes: all of it has come."""

    @abstractmethod
    def conclude(self) -> bool:
        """Let the stream end here, if it is complete by its own word; tell whether it is.

        What has come of another event is dropped then; `end` returns what is still sent.
        """

    @abstractmethod
    def abandon(self) -> bool:
        """Close the records of a stream that broke off.

        Returns:
            Whether something that was received has not been sent: a finish reason, say.
        """

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
        parser, out = self.parser, raw
        if n is None and not parser.is_between:
            return None
        if not self._is_unread(text):
            return None
        if n is None:
            n = parser.count
            parser.count += 1
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

    # -- bytes ---------------------------------------------------------------------------

    @property
    def events(self) -> int:
        """Blocks begun so far."""
        return self.parser.count

    def feed(self, data: bytes) -> list[bytes]:
        """The bytes to send when *data* is received, maybe none. Never raises."""
        out: list[bytes] = []
        parser = self.parser
        if not (parser.count or self._is_stream):
            data = self._opening(data)
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
                        logger.exception(OVER, self.label)
                        self._fail()
                    out += self.output.drain()
                data = data[end:]
            if not data:
                return out
        except Exception:
            logger.exception(OVER, self.label)
            self._pass_unread(parser.give_up() + data)
        else:
            self._run(data)
        return out + self.output.drain()

    def _opening(self, data: bytes) -> bytes:
        """What is to be read of the first *data*: nothing while it may be no stream."""
        if not (self._begun or data.strip(b"\r\n")):
            return data  # newlines keep the connection alive
        self._begun += data
        if self._may_be_body(self._begun, len(data)):
            return b""
        return self._take_begun()

    def _take_begun(self) -> bytes:
        """Hold nothing of a body any more, and return what was held."""
        begun, self._begun = bytes(self._begun), bytearray()
        self._is_stream = self._is_stream or bool(begun)
        return begun

    def _end_body(self, *, broke: bool = False) -> list[bytes]:
        """The bytes to send for a body that was held until its end."""
        self._due = begun = self._take_begun()
        if not begun:
            return []
        self._guarded(self._body, begun, broke)
        due, self._due = self._due, b""
        return [*self.output.drain(), *(self.feed(due) if due else [])]

    def end(self) -> list[bytes]:
        """The bytes to send at a clean end of the stream. Never raises."""
        out = self._end_body()
        self._run(b"")
        self._guarded(self._end)
        return [*out, *self.output.drain()]

    def _end(self) -> None:
        self._memory.forget()
        self.output.settle()
        if self._broken:
            return
        if self.parser.in_oversized:
            self._pass_by(last=True)
        self._conclude()

    def release(self, *, silent: bool = False, last: bool = False) -> list[bytes]:
        """The bytes that have waited long enough, in their present form. Never raises.

        Args:
            silent: Whether that is long enough for what waits for the next event, too.
            last: Whether nothing follows, since the stream breaks off.
        """
        out = self._end_body(broke=True) if last else []
        self._guarded(self._release, silent, last)
        return [*out, *self.output.drain()]

    def _release(self, silent: bool, last: bool) -> None:
        for item in self.parser.cut():
            self._guarded(self._item, item)
        self._memory.forget()
        self.output.settle()
        if not self._broken and self.is_between:
            self._wait_no_more(silent, last)

    @property
    def is_between(self) -> bool:
        """Whether what has been sent so far ends with a block."""
        return not (self._unread or self.parser.in_oversized)

    def keep_alive(self) -> bytes:
        """The bytes that keep the client's connection alive, between blocks."""
        return self.output.passed(b"\n")

    def rescue(self) -> bytes:
        """Return all that waits, as received: the repair of this stream is over."""
        self._bail(None)
        return self.output.passed(self._take_begun() + self.parser.give_up())

    # -- one block after another -----------------------------------------------

    def _run(self, data: bytes) -> None:
        """Process the blocks that *data* completes; nothing is the stream's end."""
        self._rests = False
        if self._unread:
            self.output.pass_on(data)
            return
        held, done = self.parser.held, 0
        items = self._items(data)
        while True:
            try:
                item = next(items, None)
            except Exception:
                logger.exception(OVER, self.label)
                unread = self.parser.give_up()
                # What it gave up may have begun to hold *data*, too.
                before, behind = max(held - done, 0), max(done - held, 0)
                self._pass_unread(unread[:before] + data[behind:])
                return
            if item is None:
                return
            done += len(item.raw)
            self._guarded(self._item, item)

    def _items(self, data: bytes) -> Iterator[Item | Comments]:
        yield from self.parser.read(data) if data else self.parser.end()

    def _item(self, item: Item | Comments) -> None:
        self._due = item.raw
        match item:
            case Gap():
                self.output.gap(item, self._join)
            case Oversized():
                self._memory.forget()
                self.output.settle()
                self._pass_by()
                if item.is_many:
                    self.raw_events[Outcome.TOO_MANY] += 1
                elif self._large != self.parser.count:  # not its next part
                    self._large = self.parser.count
                    self.raw_events[Outcome.TOO_LARGE] += 1
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
        self._due = b""

    def _handle(self, event: Event) -> None:
        known = self.known(event.raw, event.n)
        if known is not None:
            self.parser.budget_left -= self.output.cost
            self.output.add(known)
        else:
            self._repair(event)

    def _repair(self, event: Event) -> None:
        """Send what becomes of *event*, which nothing knows."""
        output = self.output
        if output.last is not None:
            output.settle()
        self._rests = False
        self.parser.budget_left -= EVENT
        record = EventRecord(event.n, event.raw)
        output.open_record(record)
        if self._broken:
            output.emit(record, event.raw)
        else:
            try:
                self._event(record, event)
            except Exception:
                logger.exception(OVER, self.label)
                self._fail()
        self._due = b""
        output.close_record(record)
        self._learn(record)

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
            logger.exception(OVER, self.label)
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
