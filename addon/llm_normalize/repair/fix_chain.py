"""The fixes of one stream, in order, none of which can harm the others.

A fix that fails is off for the rest of the stream and named in the log, once; the event
at hand is sent as received, unless a part of it has been sent already.
"""

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from http import HTTPStatus

from ..chat.chunks.chunk import Chunk
from ..chat.stream_state import Asked, Seen
from ..wire.json_text import Json, loads
from ..wire.sse import Event
from .ending.end_hook import EndHook
from .fix import Fix
from .fix_plan import FixPlan, plan_of
from .outcome import EventRecord, Outgoing

logger = logging.getLogger(__name__)

_OFF = "%s: fix %s failed and is off for this stream"


type _Edit = tuple[
    Fix,
    Callable[[Chunk], bool] | None,
    Callable[[Chunk], list[Chunk] | None] | None,
    bool,
]
"""A fix, its `edit` and its `replace`, None where it has none, and its `only_on_changed`."""

type _Todo = list[tuple[Chunk, int, bytes | None]]
"""Chunks, the number of the next fix for each, and its bytes if that is unchanged."""


class Chain:
    """The fixes of one stream, each made when it is needed first.

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
        self._plan = plan_of(fixes)
        self._made: dict[type[Fix], Fix | None] = {}  # None where one is off
        self._failed = 0  # how many are
        self._edit_of: dict[type[Fix], _Edit] = {}  # of those that are on
        self._edits: dict[tuple[bool, ...], list[_Edit]] = {}  # by the keys there
        self._at_end: dict[EndHook, list[Fix]] = {}
        self._due: list[tuple[Chunk, Fix]] = []  # flushed, and not drawn

    @property
    def names(self) -> frozenset[str]:
        """The names of all fixes."""
        return self._plan.names

    @property
    def holding_calls(self) -> frozenset[str]:
        """The names of the fixes that hold the first fragment of a call."""
        return self._plan.holding_calls

    @property
    def end_hooks(self) -> Container[EndHook]:
        """The hooks of a stream's end at which any fix acts."""
        return self._plan.at_end

    def at(self, hook: EndHook) -> Sequence[Fix]:
        """Return the fixes that act at this *hook* of a stream's end."""
        found = self._at_end.get(hook)
        if found is None:
            found = self._at_end[hook] = self._on(self._plan.at_end.get(hook, ()))
        return found

    def _on(self, kinds: Iterable[type[Fix]]) -> list[Fix]:
        """Return the fixes of these *kinds*, without those that are off."""
        made = self._made
        found = [made[each] if each in made else self._make(each) for each in kinds]
        return [fix for fix in found if fix is not None]

    def _make(self, kind: type[Fix]) -> Fix | None:
        """Make the fix of this *kind*; return None if it is off at once."""
        try:
            fix = self._made[kind] = kind(self._asked, self._seen)
        except Exception as error:  # noqa: BLE001 - a fix may fail in any way
            self._turn_off(kind, error)
            return None
        return fix

    def _begun(self, kinds: Iterable[type[Fix]]) -> list[Fix]:
        """Return those of *kinds* that have been made: no other holds anything."""
        return [fix for kind in kinds if (fix := self._made.get(kind)) is not None]

    @property
    def state(self) -> object:
        """What decides, beside the next chunk, on what the fixes make of it."""
        begun = self._begun(self._plan.stateful)
        return self._failed, [(fix.name, fix.state()) for fix in begun]

    @property
    def waiting(self) -> list[object]:
        """What the fixes hold back, each to be compared."""
        held = [fix.waiting for fix in self._begun(self._plan.waiting)]
        return [each for each in held if each is not None]

    @property
    def watched(self) -> set[str]:
        """Keys of a delta whose words decide, too."""
        begun = self._begun(self._plan.stateful)
        return {key for fix in begun for key in fix.watched}

    @property
    def is_traceable(self) -> bool:
        """Whether it holds nothing, and words count only in texts that grow."""
        begun = self._begun(self._plan.stateful)
        reads = any(fix.watched and not fix.watches_growth for fix in begun)
        return not (self._failed or reads or self.waiting)

    def frame(self, record: EventRecord, event: Event) -> list[Event]:
        """Return the events that the framing fixes make of *event*."""
        events = [event]
        for fix in self._on(self._plan.framing):
            framed: list[Event] = []
            for each in events:
                try:
                    made = fix.event(each)
                except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                    self._turn_off(type(fix), error)
                    made = None
                if made is None:
                    framed.append(each)
                else:
                    framed += made
                    record.fixed(fix.name)
            events = framed
        return events

    def unread(self, record: EventRecord, event: Event) -> list[Event] | None:
        """Return what the first fix makes of *event*, which is not understood, if any."""
        for fix in self._on(self._plan.unread):
            try:
                made = fix.unread(event)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(type(fix), error)
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
        return self._edits_with(self._plan.keys_in(payload))

    def _edits_with(self, there: tuple[bool, ...] = ()) -> list[_Edit]:
        """Return those that may have something to do where these keys are, else all."""
        found = self._edits.get(there)
        if found is None:
            known = self._edit_of
            found = self._edits[there] = [
                each
                for kind in self._plan.edits_for(there)
                if (each := known[kind] if kind in known else self._edit(kind))
            ]
        return found

    def _edit(self, kind: type[Fix]) -> _Edit | None:
        """Return what the fix of this *kind* does to a chunk; None if it is off."""
        fix = self._made[kind] if kind in self._made else self._make(kind)
        if fix is None:
            return None
        found = self._edit_of[kind] = (
            fix,
            fix.edit if kind.edit is not Fix.edit else None,
            fix.replace if kind.replace is not Fix.replace else None,
            kind.only_on_changed,
        )
        return found

    def flush(self, record: EventRecord) -> Iterator[Outgoing]:
        """Yield what the fixes still hold at the stream's end, as `run` does."""
        yield from self._send_held(record, lambda fix: fix.flush())

    def end(self, record: EventRecord, indexes: set[int] | None) -> Iterator[Outgoing]:
        """Yield what the fixes hold of choices that end, all if None, as `run` does."""
        yield from self._send_held(record, lambda fix: fix.end(indexes))

    def _send_held(
        self, record: EventRecord, held: Callable[[Fix], list[Chunk]]
    ) -> Iterator[Outgoing]:
        for kind in self._plan.holding:
            fix = self._made.get(kind)
            if fix is not None:
                self._due += [(part, fix) for part in self._held(fix, held)]
            # A fix behind it may hold what it lets go: that one is asked after this.
            yield from self._draw_due(record)

    def _draw_due(self, record: EventRecord) -> Iterator[Outgoing]:
        if not self._due:
            return
        try:
            edits = self._edits_with()
        except Exception:
            logger.exception("%s: what was held passes as it is", self._label)
            edits = []
        places = {fix: at + 1 for at, (fix, *_) in enumerate(edits)}
        while self._due:
            part, fix = self._due[0]
            record.fixed(fix.name)
            todo: _Todo = [(part, places.get(fix, len(edits)), None)]
            rest = self._draw(edits, record, todo, None, b"")
            drawn = next(rest, None)
            del self._due[0]  # what fails before is due once more
            yield from [] if drawn is None else [drawn]
            yield from rest

    def _held(self, fix: Fix, held: Callable[[Fix], list[Chunk]]) -> list[Chunk]:
        """Return what *fix* still holds."""
        try:
            return held(fix)
        except Exception as error:  # noqa: BLE001 - a fix may fail in any way
            self._turn_off(type(fix), error)
            return []

    def undo(self, n: int, *more: Fix) -> None:
        """Let the fixes, and *more*, hold nothing of event *n*, the last.

        It passes as received.
        """
        for fix in (*filter(None, self._made.values()), *more):
            try:
                fix.undo(n)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(type(fix), error)

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
                fix, edit, replace, rides = edits[at]
                if rides and unchanged is not None:
                    continue
                try:
                    if edit is not None and edit(part):
                        unchanged = None
                        record.fixed(fix.name)
                    parts = None if replace is None else replace(part)
                except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                    self._turn_off(type(fix), error)
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
        for fix in self._on(self._plan.riders):
            try:
                changed = fix.edit(outgoing.chunk)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(type(fix), error)
                continue
            if changed:
                outgoing.record.fixed(fix.name)

    def error(self, record: EventRecord, value: Json) -> Json:
        """Return what the fixes make of an error in an event."""
        for fix in self._on(self._plan.errors):
            try:
                made = fix.error(value, HTTPStatus.INTERNAL_SERVER_ERROR)
            except Exception as error:  # noqa: BLE001 - a fix may fail in any way
                self._turn_off(type(fix), error)
                continue
            if made is not None:
                value = made
                record.fixed(fix.name)
        return value

    def _turn_off(self, kind: type[Fix], error: Exception) -> None:
        if kind in self._made and self._made[kind] is None:
            return
        self._made[kind] = None
        self._failed += 1
        logger.error(_OFF, self._label, kind.name, exc_info=error)
        self._edit_of.pop(kind, None)
        self._edits.clear()
        self._at_end.clear()
