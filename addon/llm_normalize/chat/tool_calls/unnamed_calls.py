"""Fragments of tool calls that wait for a name, and how two fragments become one."""

from ...wire.json_text import Json, dumps
from ..chunks.chunk import Chunk, function, index_of, name_of
from ..chunks.chunk_content import is_hollow
from ..state.declared_tools import Tools
from ..state.sent_call import brief
from ..state.stream_state import MAX_TRACKED
from .call_records import CallRecord, CallRecords, Place

_LIMIT = 64 * 1024  # bytes that wait for a name
_ONCE = frozenset(("index", "id", "type", "name", "arguments"))


class Unnamed:
    """Fragments of tool calls whose name is missing, or only begins one of *tools*.

    Args:
        records: What is known of the calls.
        tools: The tools that the request declares.
    """

    def __init__(self, records: CallRecords, tools: Tools) -> None:
        self._tools, self._records = tools, records
        self._where: dict[tuple[int, int | str], Place] = {}
        """Where an id, or what was received under another index, waits."""
        self._held: dict[Place, CallRecord] = {}  # what waits, in order
        self._named: set[tuple[int, str]] = set()  # ids of calls that wait no more
        self._size = 0

    @property
    def waiting(self) -> object:
        """Which calls wait, and since which event; None if none does."""
        return tuple((at, each.since) for at, each in self._held.items()) or None

    @property
    def choices(self) -> frozenset[int]:
        """The choices of which something waits."""
        return frozenset(choice for choice, _ in self._held)

    def take(
        self, index: int, call: Chunk, n: int, *, opened: bool = False
    ) -> Chunk | None:
        """The fragment to send of choice *index* for the fragment *call*, if any.

        That is all of a call that has its name by now; without one it waits, and one
        that says nothing is dropped. *n* is the number of the event at hand; *opened*
        says that the call with this id has left.
        """
        here = self._records.at((index, index_of(call)))
        custom = "custom" in call and not name_of(call) and not here.held
        if call.get("type") not in (None, "", "function") or custom:
            self._know(index, call)
            return call  # of a kind that has no function, nor a name
        known = here.is_named
        if known and not name_of(call):
            self._know(index, call)  # its id may be new
            return call
        place = self._place(index, call, n)
        there = self._records.at(place)
        held, aliased = there.held, there.is_named and not name_of(call)
        if call.get("id") and not opened and self._tools.may_grow(str(name_of(call))):
            known = False  # another call under a taken index, whose name begins
        if place not in self._records or (held is None and (known or aliased)):
            return call if known else {**call, "index": place[1]}
        call = self._with_name(held, call)
        if opened or self._is_named(call):
            if held is not None:
                self._pop(place, n)
                given = {"id": call["id"]} if opened else {}
                call = join_fragments(held, call) | {"index": index_of(call)} | given
            self._know(index, call)
            return call
        if held or not is_hollow(call):
            joined = join_fragments(held or {"index": place[1]}, call)
            self._hold(place, joined, n).since = n
            if call.get("id"):
                self._note((index, brief(joined["id"])), place)
        return None

    def _is_named(self, call: Chunk) -> bool:
        name = name_of(call)
        return isinstance(name, str) and not self._tools.may_grow(name)

    def _with_name(self, held: Chunk | None, call: Chunk) -> Chunk:
        """Return *call* with the name that it and what is *held* of it have together."""
        before, given = name_of(held or {}), function(call).get("name")
        if not (before and given) or given.startswith(before):
            return call
        return {**call, "function": {**function(call), "name": before + given}}

    def _place(self, index: int, call: Chunk, n: int) -> Place:
        """Return where *call* waits: one id is one call, whatever its index."""
        own = index, index_of(call)
        place = own if self._records.at(own).held else self._where.get(own, own)
        same = self._where.get((index, brief(call.get("id"))), place)
        held, first = self._records.at(place).held, self._records.at(same).held
        other = held is not None and bool(held.get("id"))
        if same == place or first is None or (other and name_of(call)):
            return place
        if not other:
            self._note(own, same)
        if held and not other:
            self._pop(place, n)
            self._hold(same, join_fragments(first, held), n)
        return same

    def _note(self, key: tuple[int, int | str], place: Place) -> None:
        if len(self._where) < MAX_TRACKED:
            self._where[key] = place

    def _hold(self, place: Place, held: Chunk, n: int) -> CallRecord:
        record = self._held[place] = self._records.change(place, n)
        self._size += _size(held) - _size(record.held)
        record.held = held
        return record

    def _pop(self, place: Place, n: int) -> Chunk:
        self._records.change(place, n)
        record = self._held.pop(place)
        held, record.held = record.held or {}, None
        self._size -= _size(held)
        if not self._held:
            self._where.clear()
        return held

    def overflow(self, n: int) -> list[tuple[int, Chunk]]:
        """Return all that waits where it is too much, at event *n*."""
        if self._size <= _LIMIT:
            return []
        return self._give_up([*self._held], n)

    def settle(self) -> None:
        """Note that the stream ends, and no finish is to be repeated."""
        for record in self._held.values():
            record.since = -1

    def release(self, ended: set[int] | None, n: int) -> list[tuple[int, Chunk]]:
        """Release the waiting calls of the choices *ended* before event *n*; all if None.

        A finish beside a fragment is not the last: there are servers that repeat it.
        """
        due = [
            place
            for place, record in self._held.items()
            if ended is None or (place[0] in ended and record.since < n)
        ]
        found = self._give_up(due, n)
        for place in due:
            self._records.settle(place)
        return found

    def _give_up(self, due: list[Place], n: int) -> list[tuple[int, Chunk]]:
        # What continues a call that was sent would not wait, so it is first.
        due.sort(
            key=lambda at: (
                (at[0], brief((self._held[at].held or {}).get("id")))
                not in self._named,
                not self._held[at].is_named,
            )
        )
        found = [(place[0], self._pop(place, n)) for place in due]
        for index, call in found:
            self._know(index, call)
        return found

    def _know(self, index: int, call: Chunk) -> None:
        self._records.at((index, index_of(call))).is_named = True
        if call.get("id") and len(self._named) < MAX_TRACKED:
            self._named.add((index, brief(call["id"])))

    def undo(self, n: int) -> None:
        """Note what waits again, for event *n* passes unchanged."""
        self._held = {at: each for at, each in self._records.items() if each.held}
        self._size = sum(_size(record.held) for record in self._held.values())
        self._where = {}
        for place, record in self._held.items():
            record.since = n
            if record.held and record.held.get("id"):
                self._where[place[0], brief(record.held["id"])] = place


def _size(fragment: Chunk | None) -> int:
    """Return how much *fragment* says: that of two is the sum, however they are joined."""
    if not fragment:
        return 0
    named = function(fragment)
    rest = {**fragment, "function": {**named, "arguments": ""}}
    return len(dumps(rest)) + len(named.get("arguments") or "")


def join_fragments(first: Chunk, more: Chunk) -> Chunk:
    """Return a tool call's fragment with the arguments of both, and the rest once.

    Foreign texts and lists that differ are joined.
    """
    texts = [_text_of(function(each).get("arguments")) for each in (first, more)]
    inner = _sum(_filled(function(first)), _filled(function(more)))
    inner |= {"name": name} if (name := function(more).get("name")) else {}
    inner["arguments"] = "".join(texts)
    joined: Chunk = _sum(_filled(first), _filled(more))
    if "custom" in joined and "function" not in joined:
        return joined
    if not (inner.get("name") or inner["arguments"]):
        joined.pop("function", None)  # last, as where no fragment has one
    return {**joined, "function": inner}


def _sum(first: Json, more: Json) -> Json:
    """Return a field of two fragments, joined; what is equal, or a number, is there once."""
    if isinstance(first, dict) and isinstance(more, dict):
        both = {
            key: value if key in _ONCE else _sum(value, more[key])
            for key, value in first.items()
            if key in more
        }
        return {**more, **first, **both}
    is_sum = type(first) is type(more) and isinstance(first, str | list)
    return first + more if is_sum and first != more else first


def _text_of(arguments: Json) -> str:
    """Return *arguments* as text: only that can be joined."""
    if isinstance(arguments, str | None):
        return arguments or ""
    return dumps(arguments).decode()


def _filled(part: Chunk) -> Chunk:
    return {
        key: value
        for key, value in part.items()
        if value not in (None, "")
        and (not isinstance(value, dict) or any(value.values()))
    }
