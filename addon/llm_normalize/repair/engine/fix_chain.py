"""The fixes of one answer, in order, none of which can harm the others.

A fix that fails is off for the rest of the answer and named in the log, once; the event
at hand is sent as received, unless a part of it has been sent already.
"""

import logging
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from http import HTTPStatus

from ...chat.chunks.chunk import Chunk
from ...chat.errors.errors import status_of
from ...chat.state.asked import Asked
from ...chat.state.stream_state import Seen
from ...wire.json_text import Json, loads
from ...wire.sse import Event
from ..fix import Fix, HoldingFix
from ..look import look
from ..outcome import EventRecord, Outgoing
from .assembled_calls import AssembledCalls
from .fix_plan import FixPlan, plan_of

logger = logging.getLogger(__name__)

_NONE = -1  # the place of a chunk that no fix has changed
_OVER = sys.maxsize  # the place of a chunk that no fix gets any more
_OFF = "%s: fix %s failed and is off for this answer"


type _Todo = list[tuple[Chunk, int, bytes | None]]
"""Chunks, the place of the last fix of each, and its bytes if that is unchanged."""


def _made(parts: Sequence[Chunk], place: int) -> _Todo:
    """The chunks still to fix: *parts*, made by the fix at a *place*."""
    if not isinstance(parts, list):
        raise TypeError(parts)
    return [
        (each, place if "choices" in each else _OVER, None) for each in reversed(parts)
    ]


class Chain:
    """The fixes of one stream, or of a body, each made when it is needed first.

    Args:
        fixes: The classes of the fixes, in order, or their plan.
        asked: What the request asked.
        seen: What the stream has sent.
        label: Names the stream in log lines.
    """

    def __init__(
        self,
        fixes: Sequence[type[Fix]] | FixPlan,
        asked: Asked,
        seen: Seen,
        label: str,
    ) -> None:
        self._asked, self._seen, self._label = asked, seen, label
        self.plan = plan_of(fixes)
        """What each of them does."""
        self._made: dict[type[Fix], Fix | None] = {}  # None where one is off
        self._holding: tuple[HoldingFix, ...] = ()  # of those that are made
        self._asked_all = 0  # bits of those that are asked about each chunk
        self._due: list[tuple[Chunk, int, Sequence[str]]] = []  # flushed, and not drawn
        self.readers: tuple[HoldingFix, ...] = ()
        """Those that have to read the texts which go on: see `watch`."""
        self._text: tuple[int, Sequence[str]] = (0, ())  # its choice, its keys

    def _on(self, kinds: Iterable[type[Fix]]) -> list[Fix]:
        """Return the fixes of these *kinds*, without those that are off."""
        made = self._made
        found = [made[each] if each in made else self._make(each) for each in kinds]
        return [fix for fix in found if fix is not None]

    def _make(self, kind: type[Fix]) -> Fix | None:
        """Make the fix of this *kind*; return None if it is off at once."""
        try:
            fix = kind(self._asked, self._seen)
        except Exception as error:  # noqa: BLE001 - a fix may fail in any way
            self._turn_off(kind, error)
            return None
        self._made[kind] = fix
        if isinstance(fix, AssembledCalls):
            fix.on = self.plan.names
        if isinstance(fix, HoldingFix):
            self._holding += (fix,)
            if kind in self.plan.flushing and not fix.holds_calls:
                # The others wait for another call, or the end.
                self._asked_all |= 1 << self.plan.place_of[kind]
        return fix

    @property
    def waits(self) -> bool:
        """Whether a fix holds anything of a choice back."""
        return any(each.waiting is not None for each in self._holding)

    @property
    def waiting_briefly(self) -> list[object]:
        """What the fixes hold back for 100 ms, each to be compared."""
        held = [fix.waiting for fix in self._holding if not fix.holds_calls]
        return [each for each in held if each is not None]

    def watch(self, index: int, keys: Sequence[str]) -> bool:
        """Find the fixes that have to read the texts under *keys* of choice *index*.

        Returns:
            Whether none holds anything, and at most one reads: of two, one could take note
            of a text that is parsed for the other, and then count it twice.
        """
        self.readers, self._text = (), (index, keys)
        for fix in self._holding:
            try:
                if fix.waiting is not None:
                    return False
                if not fix.watched.isdisjoint(keys):
                    self.readers += (fix,)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(type(fix), error)
        return len(self.readers) <= 1

    def reads(self, text: bytes) -> bool:
        """Tell whether an event has to be parsed that differs from the last in this *text*.

        Args:
            text: As it is written in JSON.
        """
        words = str(loads(b'"%b"' % text))
        index, keys = self._text
        for fix in self.readers:
            if self._called(fix, fix.reads, index, keys, words):
                return True
        self.readers = tuple(x for x in self.readers if not x.watched.isdisjoint(keys))
        return False

    def frame(self, record: EventRecord, event: Event) -> list[Event]:
        """Return the events that the framing fixes make of *event*."""
        events = [event]
        for fix in self._on(self.plan.framing):
            framed: list[Event] = []
            for each in events:
                made = self._called(fix, fix.event, each)
                if made is None:
                    framed.append(each)
                else:
                    framed += made
                    record.fixed(fix.name)
            events = framed
        return events

    def unread(self, record: EventRecord, event: Event) -> list[Event] | None:
        """The first fix's replacement of *event*, which is not understood, if any."""
        for fix in self._on(self.plan.unread):
            made = self._called(fix, fix.unread, event)
            if made is not None:
                record.fixed(fix.name)
                return made
        return None

    def run(
        self,
        record: EventRecord,
        chunk: Chunk,
        payload: bytes,
        raw: bytes,
    ) -> Iterable[Outgoing]:
        """Run the fixes on *chunk*, depth first, and while the results are drawn.

        Each result has to be recorded as seen before the next is drawn. An error that a fix
        parts from a chunk is one without choices.

        Args:
            record: The block of the chunk.
            chunk: The chunk, changed in place.
            payload: The JSON it was read from.
            raw: The bytes that are sent if nothing changes it.
        """
        found = look(chunk, self._asked, self._seen, is_changed=False)
        due = self.plan.handling(found) | self._asked_all
        if not due:
            return (Outgoing(record, chunk, raw, found=found),)
        return self._draw(record, [(chunk, _NONE, raw)], payload, raw, (found, due))

    def flush(self, record: EventRecord) -> Iterator[Outgoing]:
        """Yield what the fixes still hold at the stream's end, as `run` does."""
        return self._send_held(record, lambda fix: fix.flush())

    def end(
        self,
        record: EventRecord,
        indexes: set[int] | None,
        *,
        briefly: bool = False,
    ) -> Iterator[Outgoing]:
        """Yield what the fixes hold of choices that end, all if None, as `run` does.

        If *briefly*, only what is held no longer than 100 ms.
        """
        return self._send_held(
            record,
            lambda fix: [] if briefly and fix.holds_calls else fix.end(indexes),
        )

    def _send_held(
        self,
        record: EventRecord,
        held: Callable[[HoldingFix], list[Chunk]],
    ) -> Iterator[Outgoing]:
        for kind in self.plan.holding:
            fix = self._made.get(kind)
            if not isinstance(fix, HoldingFix):
                continue
            place = self.plan.place_of[kind]
            for part in self._called(fix, held, fix) or ():
                self._due.append((part, place, fix.repaired))
            # A fix behind it may hold what it lets go: that one is asked after this.
            if self._due:
                yield from self._draw_due(record)

    def _draw_due(self, record: EventRecord) -> Iterator[Outgoing]:
        while self._due:
            part, place, repaired = self._due[0]
            record.fixed(*repaired)
            rest = self._draw(record, [(part, place, None)], None, b"")
            try:
                drawn = next(rest, None)
            except Exception:
                logger.exception("%s: the held data passes as it is", self._label)
                drawn = Outgoing(record, part, None)
            del self._due[0]
            yield from [] if drawn is None else [drawn]
            yield from rest

    def undo(self, n: int, *more: HoldingFix) -> None:
        """Let the fixes, and *more*, hold nothing of event *n*, the last.

        It passes as received.
        """
        received = self._seen.received
        self._seen.received = {key: at for key, at in received.items() if at != n}
        for fix in (*self._holding, *more):
            self._called(fix, fix.undo, n)

    def _draw(
        self,
        record: EventRecord,
        todo: _Todo,
        payload: bytes | None,
        raw: bytes,
        known: tuple[int, int] | None = None,
    ) -> Iterator[Outgoing]:
        """Take each of *todo* through the fixes; after each change look at it anew.

        Args:
            record: The block of the chunks.
            todo: The chunks.
            payload: The JSON that they were read from, if they were.
            raw: The bytes of that chunk.
            known: What is found in the first, and who is asked, if it has been looked at.
        """
        made, kinds = self._made, self.plan.edits
        while todo:
            part, behind, unchanged = todo.pop()
            due = found = 0
            if known is not None:
                (found, due), known = known, None
            elif behind != _OVER:
                found = look(
                    part, self._asked, self._seen, is_changed=unchanged is None
                )
                due = self.plan.handling(found) | self._asked_all
                due = due >> behind + 1 << behind + 1
            while due:
                place = (due & -due).bit_length() - 1
                due &= due - 1
                kind = kinds[place]
                fix = made[kind] if kind in made else self._make(kind)
                if fix is None:
                    continue
                try:
                    parts = fix.edit(part)
                    if parts is False or parts is None:
                        continue
                    more = (
                        [(part, place, None)] if parts is True else _made(parts, place)
                    )
                except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                    self._turn_off(kind, error)
                    if (yield from self._draw_without(fix, record, payload, raw)):
                        return
                    if unchanged is None:
                        todo.append((part, place, None))  # as it is by now
                        break
                    continue
                named = fix.repaired if isinstance(fix, HoldingFix) else (fix.name,)
                record.fixed(*named)
                todo += more
                break
            else:
                is_through = unchanged is None
                yield Outgoing(record, part, unchanged, is_through, found)

    def _draw_without(
        self, fix: Fix, record: EventRecord, payload: bytes | None, raw: bytes
    ) -> Generator[Outgoing, None, bool]:
        """Yield what *fix*, which has failed, held, and the chunk at hand as received.

        Returns:
            Whether that is all: where a part has been sent already, the rest must follow.
        """
        reread = None if record.after or record.waiting else payload
        if reread is not None:
            self.undo(record.n, *([fix] if isinstance(fix, HoldingFix) else []))
            record.fixes.clear()
        if isinstance(fix, HoldingFix):
            rest = self._called(fix, lambda: [*fix.flush(), *fix.end(None)])
            if rest:
                record.fixed(*fix.repaired)
                todo = _made(rest, self.plan.place_of[type(fix)])
                yield from self._draw(record, todo, None, b"")
        if reread is not None:
            yield Outgoing(record, loads(reread), raw)
        return reread is not None

    def ride(self, outgoing: Outgoing) -> None:
        """Apply the fixes that ride on others to a chunk that was changed after all."""
        for fix in self._on(self.plan.riders):
            if self._called(fix, fix.edit, outgoing.chunk):
                outgoing.record.fixed(fix.name)

    def body(self, record: EventRecord, body: Chunk) -> bool:
        """Repair the *body* of an answer in place; tell whether no fix has failed."""
        for kind in self.plan.bodies:
            if not record.fixes and kind in self.plan.riders:
                continue
            if kind in self._made:
                continue  # it has failed before
            try:
                if kind(self._asked, self._seen).body(body):
                    record.fixed(kind.name)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(kind, error)
                return False
        return True

    def error(
        self, record: EventRecord, value: Json, status: int | None = None
    ) -> Json:
        """Run the fixes on an error.

        Args:
            record: The event, or the body.
            value: What it says.
            status: The HTTP status; None for an event, which has none.
        """
        if status is None:
            is_object = isinstance(value, dict)
            status = status_of(value) if is_object else HTTPStatus.INTERNAL_SERVER_ERROR
        for fix in self._on(self.plan.errors):
            made = self._called(fix, fix.error, value, status)
            if made is not None:
                value = made
                record.fixed(fix.name)
        return value

    def _called[**Of, T](
        self, fix: Fix, act: Callable[Of, T], *of: Of.args, **more: Of.kwargs
    ) -> T | None:
        """Return what *act*, of a *fix*, returns; None if it fails, which turns that off."""
        try:
            return act(*of, **more)
        except Exception as error:  # noqa: BLE001 - a fix may fail in any way
            self._turn_off(type(fix), error)
            return None

    def _turn_off(self, kind: type[Fix], error: Exception) -> None:
        if kind in self._made and self._made[kind] is None:
            return
        self._made[kind] = None
        self._holding = tuple(x for x in self._holding if type(x) is not kind)
        if kind in self.plan.flushing:
            self._asked_all &= ~(1 << self.plan.place_of[kind])
        self._seen.is_unsure = True
        logger.error(_OFF, self._label, kind.name, exc_info=error)
