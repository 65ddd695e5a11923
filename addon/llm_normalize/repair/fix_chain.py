"""The fixes of one stream, in order, none of which can harm the others.

A fix that fails is off for the rest of the stream and named in the log, once; the event
at hand is sent as received, unless a part of it has been sent already.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import NamedTuple

from ..chat.chunk import Chunk
from ..chat.stream_state import Asked, Seen
from ..wire.json_text import Json, loads
from ..wire.sse import Event
from .fix import Fix
from .outcome import EventRecord, Outgoing

logger = logging.getLogger(__name__)

_LONG = 64 * 1024  # bytes of a chunk in which no key is sought
_OFF = "%s: fix %s failed and is off for this stream"


class _Edit(NamedTuple):
    """What a fix does to a chunk; None where it does nothing."""

    fix: Fix
    edit: Callable[[Chunk], bool] | None
    replace: Callable[[Chunk], list[Chunk] | None] | None


type _Todo = list[tuple[Chunk, int, bytes | None]]
"""Chunks, the number of the next fix for each, and its bytes if that is unchanged."""


def begin(
    fixes: Iterable[type[Fix]], asked: Asked, seen: Seen, label: str
) -> list[Fix]:
    """Return *fixes* for a new stream, without those that fail at once."""
    made = []
    for fix in fixes:
        try:
            made.append(fix(asked, seen))
        except Exception:
            logger.exception(_OFF, label, fix.name)
    return made


class Chain:
    """The fixes of one stream.

    Args:
        fixes: The fixes, in order.
        label: Names the stream in log lines.
    """

    def __init__(self, fixes: Sequence[Fix], label: str) -> None:
        self._label = label
        self._off: list[Fix] = []
        self._due: list[tuple[Chunk, Fix, int]] = []  # flushed, and not drawn
        self._framing = [fix for fix in fixes if type(fix).event is not Fix.event]
        self._unread = [fix for fix in fixes if type(fix).unread is not Fix.unread]
        self._edits = [
            _Edit(
                fix,
                fix.edit if type(fix).edit is not Fix.edit else None,
                fix.replace if type(fix).replace is not Fix.replace else None,
            )
            for fix in fixes
            if type(fix).edit is not Fix.edit or type(fix).replace is not Fix.replace
        ]
        self._riders = [each.fix for each in self._edits if each.fix.rides]
        self._keys = sorted({each.fix.key.encode() for each in self._edits})
        self._keyed: dict[tuple[bool, ...], list[_Edit]] = {}
        self._errors = [fix for fix in fixes if type(fix).error is not Fix.error]
        self._stateful = [fix for fix in fixes if type(fix).state is not Fix.state]
        self._holding = [fix for fix in fixes if type(fix).waiting is not Fix.waiting]

    @property
    def state(self) -> object:
        """What decides, beside the next chunk, on what the fixes make of it."""
        return len(self._off), [fix.state() for fix in self._stateful]

    @property
    def waiting(self) -> list[object]:
        """What the fixes hold back, each to be compared."""
        held = [fix.waiting for fix in self._holding]
        return [each for each in held if each is not None]

    @property
    def watched(self) -> set[str]:
        """Keys of a delta whose words decide, too."""
        return {key for fix in self._stateful for key in fix.watched}

    def frame(self, record: EventRecord, event: Event) -> list[Event]:
        """Return the events that the framing fixes make of *event*."""
        events = [event]
        for fix in self._framing:
            framed: list[Event] = []
            for each in events:
                try:
                    made = fix.event(each)
                except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                    self._turn_off(fix, error)
                    made = None
                if made is None:
                    framed.append(each)
                else:
                    framed += made
                    record.fixed(fix.name)
            events = framed
        return events

    def unread(self, record: EventRecord, event: Event) -> Event | None:
        """Return what the first fix makes of *event*, which is not understood, if any."""
        for fix in self._unread:
            try:
                made = fix.unread(event)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(fix, error)
                continue
            if made is not None:
                record.fixed(fix.name)
                return made
        return None

    def run(
        self, record: EventRecord, chunk: Chunk, payload: bytes, raw: bytes
    ) -> Iterator[Outgoing]:
        """Yield what the fixes make of *chunk*, depth first.

        Each has to be recorded as seen before the next is drawn. An error that a fix parts
        from a chunk is one without choices.

        Args:
            record: The block of the chunk.
            chunk: The chunk, changed in place.
            payload: The JSON it was read from.
            raw: The bytes that are sent if nothing changes it.
        """
        edits = self._edits_for(payload)
        todo: _Todo = [(chunk, 0, raw)]
        yield from self._draw(edits, record, todo, lambda: loads(payload), raw)

    def _edits_for(self, payload: bytes) -> list[_Edit]:
        """Return those that may have something to do, by the bytes of a chunk."""
        if len(payload) > _LONG or b"\\u" in payload:
            return self._edits  # a key may be spelled in any way
        there = tuple([key in payload for key in self._keys])
        if there not in self._keyed:
            found = {
                key for key, is_there in zip(self._keys, there, strict=True) if is_there
            }
            self._keyed[there] = [
                each for each in self._edits if each.fix.key.encode() in found
            ]
        return self._keyed[there]

    def flush(self, record: EventRecord) -> Iterator[Outgoing]:
        """Yield what the fixes still hold at the stream's end, as `run` does."""
        yield from self._send_held(record, lambda fix: fix.flush())

    def end(self, record: EventRecord, indexes: set[int] | None) -> Iterator[Outgoing]:
        """Yield what the fixes hold of choices that end, all if None, as `run` does."""
        yield from self._send_held(record, lambda fix: fix.end(indexes))

    def _send_held(
        self, record: EventRecord, held: Callable[[Fix], list[Chunk]]
    ) -> Iterator[Outgoing]:
        edits = list(self._edits)
        for at, each in enumerate(edits):
            found = self._held(each.fix, held)
            self._due += [(part, each.fix, at + 1) for part in found]
        while self._due:
            part, fix, first = self._due[0]
            record.fixed(fix.name)
            rest = self._draw(edits, record, [(part, first, None)], None, b"")
            drawn = next(rest, None)
            del self._due[0]  # what fails before is due once more
            yield from [] if drawn is None else [drawn]
            yield from rest

    def _held(self, fix: Fix, held: Callable[[Fix], list[Chunk]]) -> list[Chunk]:
        """Return what *fix* still holds."""
        try:
            return held(fix)
        except Exception as error:  # noqa: BLE001 - a fix may fail in any way
            self._turn_off(fix, error)
            return []

    def undo(self, n: int, *more: Fix) -> None:
        """Let the fixes, and *more*, hold nothing of event *n*, the last.

        It passes as received.
        """
        for fix in (*(each.fix for each in self._edits), *more):
            try:
                fix.undo(n)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(fix, error)

    def _draw(
        self,
        edits: list[_Edit],
        record: EventRecord,
        todo: _Todo,
        reread: Callable[[], Chunk] | None,
        raw: bytes,
    ) -> Iterator[Outgoing]:
        """Take each of *todo* through *edits*."""
        while todo:
            part, first, unchanged = todo.pop()
            for at in range(first, len(edits)):
                fix, edit, replace = edits[at]
                if fix.rides and unchanged is not None:
                    continue
                try:
                    if edit is not None and edit(part):
                        unchanged = None
                        record.fixed(fix.name)
                    parts = None if replace is None else replace(part)
                except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                    self._turn_off(fix, error)
                    # Where a part has been sent already, the rest must follow.
                    reread_chunk = None if record.after or record.waiting else reread
                    if reread_chunk is not None:
                        self.undo(record.n, fix)
                        record.fixes.clear()
                    rest = self._held(fix, lambda fix: [*fix.flush(), *fix.end(None)])
                    held: _Todo = [(each, at + 1, None) for each in rest]
                    if held:
                        record.fixed(fix.name)
                        yield from self._draw(edits, record, held[::-1], None, b"")
                    if reread_chunk is None:
                        continue
                    yield Outgoing(record, reread_chunk(), raw)
                    return
                if parts is not None:
                    record.fixed(fix.name)
                    todo.extend(
                        (each, at + 1 if "choices" in each else len(edits), None)
                        for each in reversed(parts)
                    )
                    break
            else:
                yield Outgoing(record, part, unchanged, is_through=unchanged is None)

    def ride(self, outgoing: Outgoing) -> None:
        """Apply the fixes that ride on others to a chunk that was changed after all."""
        for fix in self._riders:
            try:
                changed = fix.edit(outgoing.chunk)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(fix, error)
                continue
            if changed:
                outgoing.record.fixed(fix.name)

    def error(self, record: EventRecord, value: Json) -> Json:
        """Return what the fixes make of an error in an event."""
        for fix in self._errors:
            try:
                made = fix.error(value, HTTPStatus.INTERNAL_SERVER_ERROR)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(fix, error)
                continue
            if made is not None:
                value = made
                record.fixed(fix.name)
        return value

    def _turn_off(self, fix: Fix, error: Exception) -> None:
        if fix in self._off:
            return
        self._off.append(fix)
        logger.error(_OFF, self._label, fix.name, exc_info=error)
        self._framing = [each for each in self._framing if each is not fix]
        self._unread = [each for each in self._unread if each is not fix]
        self._errors = [each for each in self._errors if each is not fix]
        self._edits = [each for each in self._edits if each.fix is not fix]
        self._riders = [each for each in self._riders if each is not fix]
        self._keyed.clear()
