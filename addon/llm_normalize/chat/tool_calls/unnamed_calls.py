"""Fragments of tool calls that wait for a name, and how two fragments become one."""

from ...wire.json_text import Json, dumps
from ..chunks.chunk import Chunk, function, index_of, name_of
from ..chunks.chunk_content import is_hollow
from ..stream_state import MAX_TRACKED
from .declared_tools import NONE, Tools
from .sent_call import brief

_LIMIT = 64 * 1024  # bytes that wait for a name


_SAID = ("name", "arguments")


class Unnamed:
    """Fragments of tool calls whose name is missing, or only begins one of *tools*."""

    def __init__(self, tools: Tools = NONE) -> None:
        self._tools = tools
        self._held: dict[tuple[int, int], Chunk] = {}  # (choice, call) to all so far
        self._at: dict[tuple[int, int], int] = {}  # the event that brought the last
        self._where: dict[tuple[int, int | str], tuple[int, int]] = {}
        """Where an id, or what was received under another index, waits."""
        self._known: set[tuple[int, int | str]] = set()  # calls that wait no more
        self._size = 0
        self._before = (-1, self._held)  # an event's number, and what waited before it

    @property
    def waiting(self) -> object:
        """Which calls wait, and since which event; None if none does."""
        return tuple(self._at.items()) or None

    @property
    def choices(self) -> frozenset[int]:
        """The choices of which something waits."""
        return frozenset(choice for choice, _ in self._held)

    def take(
        self, index: int, call: Chunk, n: int, *, opened: bool = False
    ) -> Chunk | None:
        """Return what is sent of choice *index* for the fragment *call*, if anything.

        That is all of a call that has its name by now; without one it waits, and one
        that says nothing is dropped. *n* is the number of the event at hand; *opened*
        says that the call with this id has left.
        """
        own = index, index_of(call)
        custom = "custom" in call and not name_of(call) and own not in self._held
        if call.get("type") not in (None, "", "function") or custom:
            self._know(index, call)
            return call  # of a kind that has no function, nor a name
        known = own in self._known
        if known and not name_of(call):
            self._know(index, call)  # its id may have come now
            return call
        place = self._place(index, call, n)
        held = self._held.get(place)
        aliased = place in self._known and not name_of(call)
        if call.get("id") and not opened and self._tools.may_grow(str(name_of(call))):
            known = False  # another call under a taken index, whose name begins
        if held is None and (known or aliased):
            return call if known else {**call, "index": place[1]}
        call = self._with_name(held, call)
        if opened or self._is_named(call):
            self._know(index, call)
            if held is None:
                return call
            self._begin(n)
            self._pop([place])
            frame = {"index": index_of(call)} | ({"id": call["id"]} if opened else {})
            joined = {**join_fragments(held, call), **frame}
            self._know(index, joined)
            return joined
        waits = held or call.get("id") or any(map(function(call).get, _SAID))
        if waits:
            self._begin(n)
            joined = join_fragments(held or {"index": place[1]}, call)
            self._size += _size(joined) - _size(held)
            self._held[place], self._at[place] = joined, n
            if call.get("id"):
                self._note((index, _id_of(joined)), place)
        # What says something in another shape passes as it is.
        passes = not waits and "function" not in call and not is_hollow(call)
        return call if passes else None

    def _is_named(self, call: Chunk) -> bool:
        name = name_of(call)
        return isinstance(name, str) and not self._tools.may_grow(name)

    def _with_name(self, held: Chunk | None, call: Chunk) -> Chunk:
        """Return *call* with the name that it and what is *held* of it have together."""
        before, given = name_of(held or {}), function(call).get("name")
        if not (before and given) or given.startswith(before):
            return call
        return {**call, "function": {**function(call), "name": before + given}}

    def _place(self, index: int, call: Chunk, n: int) -> tuple[int, int]:
        """Return where *call* waits: one id is one call, whatever its index."""
        own = index, index_of(call)
        place = own if own in self._held else self._where.get(own, own)
        same = self._where.get((index, _id_of(call)), place)
        held = self._held.get(place)
        other = held is not None and bool(held.get("id"))
        if same == place or same not in self._held or (other and name_of(call)):
            return place
        if not other:
            self._note(own, same)
        if held and not other:
            self._begin(n)
            (_, more), *_ = self._pop([place])
            first = self._held[same]
            self._held[same] = joined = join_fragments(first, more)
            self._size += _size(joined) - _size(first)
        return same

    def _note(self, key: tuple[int, int | str], place: tuple[int, int]) -> None:
        if len(self._where) < MAX_TRACKED:
            self._where[key] = place

    def overflow(self, n: int) -> list[tuple[int, Chunk]]:
        """Return all that waits where it is too much, at event *n*."""
        if self._size <= _LIMIT:
            return []
        self._begin(n)
        return self._give_up([*self._held])

    def settle(self) -> None:
        """Note that the stream ends, and no finish is to be repeated."""
        self._at = dict.fromkeys(self._held, -1)

    def release(self, ended: set[int] | None, n: int) -> list[tuple[int, Chunk]]:
        """Return what waits of the choices that *ended* before event *n*; all if None.

        A finish beside a fragment is not the last: there are servers that repeat it.
        """
        due = [
            place
            for place in self._held
            if ended is None or (place[0] in ended and self._at[place] < n)
        ]
        for place in due:  # it is sent, whatever becomes of the event at hand
            self._before[1].pop(place, None)
        return self._give_up(due)

    def _give_up(self, due: list[tuple[int, int]]) -> list[tuple[int, Chunk]]:
        # What continues a call that was sent would not wait, so it is first.
        known = self._known
        due.sort(
            key=lambda at: (
                (at[0], _id_of(self._held[at])) not in known,
                at not in known,
            )
        )
        popped = self._pop(due)
        for index, call in popped:
            self._know(index, call)
        return popped

    def _know(self, index: int, call: Chunk) -> None:
        if len(self._known) < MAX_TRACKED:
            self._known.add((index, index_of(call)))
        if call.get("id") and len(self._known) < MAX_TRACKED:
            self._known.add((index, _id_of(call)))

    def _pop(self, due: list[tuple[int, int]]) -> list[tuple[int, Chunk]]:
        popped = [(place[0], self._held.pop(place)) for place in due]
        for place, (_, call) in zip(due, popped, strict=True):
            del self._at[place]
            self._size -= _size(call)
        if not self._held:
            self._where.clear()
        return popped

    def undo(self, n: int) -> None:
        """Restore what was held before event *n*, which passes unchanged."""
        if self._before[0] == n:
            self._held = dict(self._before[1])
            self._at = dict.fromkeys(self._held, n)
            self._where = {
                (place[0], _id_of(call)): place
                for place, call in self._held.items()
                if call.get("id")
            }
            self._size = sum(map(_size, self._held.values()))

    def _begin(self, n: int) -> None:
        if self._before[0] != n:
            self._before = n, dict(self._held)


def _id_of(fragment: Chunk) -> str:
    """Return the id in a form that can be looked up, whatever it is; empty for none."""
    identity = brief(fragment.get("id") or "")
    return identity if isinstance(identity, str) else dumps(identity).decode()


def _size(fragment: Chunk | None) -> int:
    """Return how much *fragment* says: that of two is the sum, however they are joined."""
    if not fragment:
        return 0
    named = function(fragment)
    rest = {**fragment, "function": {**named, "arguments": ""}}
    return len(dumps(rest)) + len(named.get("arguments") or "")


def join_fragments(first: Chunk, more: Chunk) -> Chunk:
    """Return a tool call's fragment with the arguments of both, and the rest once."""
    texts = [_text_of(function(each).get("arguments")) for each in (first, more)]
    inner = {**_filled(function(more)), **_filled(function(first))}
    inner |= {"name": name} if (name := function(more).get("name")) else {}
    inner["arguments"] = "".join(texts)
    return {**_filled(more), **_filled(first), "function": inner}


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
