"""The calls of a choice, found by id and by index, even if a chunk has thousands."""

from ...wire.json_text import Json
from ..stream_state import MAX_TRACKED
from .sent_call import Call

type Place = tuple[int, int]
"""A choice, and the index of a call in it."""


class OpenCalls:
    """The calls that a choice has opened, including those of the current chunk.

    Args:
        calls: The calls by index, first opened first; not changed.
    """

    def __init__(self, calls: dict[int, Call]) -> None:
        self._calls = dict(calls)
        self.last = max(calls, default=-1)
        """The highest index; -1 without any."""
        self._asked = False
        self._by_id: dict[Json, list[int]] | None = None

    def get(self, at: int) -> Call | None:
        """Return the call at this index."""
        return self._calls.get(at)

    def add(self, at: int, call: Call) -> None:
        """Record an opened call, unless one is open at this index."""
        if at not in self._calls:
            self._calls[at] = call
            self.last = max(self.last, at)
            if self._by_id is not None:
                self._by_id.setdefault(_key(call.id), []).append(at)

    def where(self, identity: Json) -> list[int]:
        """Return the indexes of calls with this id, first opened first."""
        if not self._asked:  # most chunks ask once: an index is not worth it
            self._asked = True
            return [at for at, call in self._calls.items() if call.id == identity]
        if self._by_id is None:
            self._by_id = {}
            for at, call in self._calls.items():
                self._by_id.setdefault(_key(call.id), []).append(at)
        return self._by_id.get(_key(identity), [])


class IndexMap:
    """Maps the provider's call indexes to ours, for at most `MAX_TRACKED` calls."""

    def __init__(self) -> None:
        self._ours: dict[Place, int] = {}
        self._by_id: dict[tuple[Place, Json], int] = {}

    def get(self, theirs: Place) -> int:
        """Return our index for *theirs*; if none is recorded, the same."""
        return self._ours.get(theirs, theirs[1])

    def find(self, theirs: Place, identity: Json) -> int | None:
        """Return our index of the call that opened at *theirs* with this id, if any did."""
        return self._by_id.get((theirs, _key(identity)))

    def open(self, theirs: Place, identity: Json, ours: int) -> None:
        """Record that the call with this id, as received, opened at *theirs*, as *ours*."""
        if len(self._by_id) < MAX_TRACKED:
            self._by_id[theirs, _key(identity)] = ours

    def is_new(self, place: Place) -> bool:
        """Tell whether no call is recorded under this place yet."""
        return place not in self._ours and len(self._ours) < MAX_TRACKED

    def note(self, theirs: Place, ours: int) -> bool:
        """Map *theirs* to *ours*; return False if the limit is reached."""
        if theirs not in self._ours and len(self._ours) >= MAX_TRACKED:
            return False
        self._ours[theirs] = ours
        return True


class AssignedIndexes:
    """Assigns an unused index to each call that has none; to at most `MAX_TRACKED`.

    A fragment that continues a call gets that call's index. If the provider later uses an
    assigned index for another call, that call gets an unused index, too.
    """

    def __init__(self) -> None:
        self._theirs: dict[
            Place, int
        ] = {}  # an index that the provider sent, and ours for it
        self._moved: set[Place] = set()  # our indexes of calls that had to move
        self._own: dict[
            Place, tuple[Json, bool]
        ] = {}  # calls without an index: the id, and whether it has a name
        self._by_id: dict[tuple[int, Json], int] = {}
        self._last: dict[int, int] = {}

    def last(self, index: int) -> int | None:
        """Return the index of the last fragment of choice *index*.

        If calls have opened without an index, it is the index of their last fragment.
        """
        return self._last.get(index)

    def find(self, index: int, identity: Json) -> int | None:
        """Return the index of the last fragment with this id."""
        return self._by_id.get((index, _key(identity)))

    def lacks_name(self, place: Place) -> bool:
        """Tell whether a call without an index is at *place*, and has no name yet."""
        return place in self._own and not self._own[place][1]

    def given(self, theirs: Place, identity: Json, *, is_named: bool) -> int:
        """Return the index of a fragment that has one: an unused one if that is taken.

        It is taken if it was assigned to a call with another id, and that has no name yet
        or the fragment has one.
        """
        index, at = theirs
        if theirs not in self._theirs and len(self._theirs) < MAX_TRACKED:
            other, has_name = self._own.get(theirs, (None, False))
            is_other = bool(other and identity) and other != identity
            if (is_other and (is_named or not has_name)) or theirs in self._moved:
                at = self._free(index)
                self._moved.add((index, at))
            self._theirs[theirs] = at
        return self._note(index, self._theirs.get(theirs, at), identity)

    def goes_on(self, index: int, at: int, identity: Json, *, is_named: bool) -> int:
        """Return *at* for a fragment without an index that continues the call there."""
        if is_named and (index, at) in self._own:
            self._own[index, at] = self._own[index, at][0] or identity, True
        return self._note(index, at, identity)

    def open(self, index: int, at: int, identity: Json, *, is_named: bool) -> int:
        """Return an index for a call that opens without one: *at*, unless that is taken."""
        place = index, at
        if place in self._theirs or place in self._own or place in self._moved:
            at = self._free(index)
        if len(self._own) < MAX_TRACKED:
            self._own[index, at] = identity, is_named
        return self._note(index, at, identity)

    def _free(self, index: int) -> int:
        theirs = (
            max(at, now)
            for (choice, at), now in self._theirs.items()
            if choice == index
        )
        own = (at for choice, at in self._own if choice == index)
        return max(max(theirs, default=-1), max(own, default=-1)) + 1

    def _note(self, index: int, at: int, identity: Json) -> int:
        is_own = (index, self._last.get(index)) in self._own and (
            index,
            at,
        ) not in self._own
        if not is_own and (index in self._last or len(self._last) < MAX_TRACKED):
            self._last[index] = at
        key = index, _key(identity)
        if identity and (key in self._by_id or len(self._by_id) < MAX_TRACKED):
            self._by_id[key] = at
        return at


def _key(identity: Json) -> Json:
    """Return a hashable key for an id: a list or an object cannot be looked up."""
    return repr(identity) if isinstance(identity, list | dict) else identity
