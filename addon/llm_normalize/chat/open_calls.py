"""The calls of a choice, found by id and by index without looking at all of them.

For a chunk with thousands of them.
"""

from ..wire.json_text import Json
from .stream_state import MANY, Call

type Place = tuple[int, int]
"""A choice, and the index of a call in it."""


class Opened:
    """What a choice has opened, and what the chunk at hand opens beyond that.

    Args:
        calls: The calls by index, first opened first; kept as they are.
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
        """Record what opens a call, unless one is open at this index."""
        if at not in self._calls:
            self._calls[at] = call
            self.last = max(self.last, at)
            if self._by_id is not None:
                self._by_id.setdefault(_key(call.id), []).append(at)

    def where(self, identity: Json) -> list[int]:
        """Return where calls with this id are, first opened first."""
        if not self._asked:  # most chunks ask once: that is not worth an index
            self._asked = True
            return [at for at, call in self._calls.items() if call.id == identity]
        if self._by_id is None:
            self._by_id = {}
            for at, call in self._calls.items():
                self._by_id.setdefault(_key(call.id), []).append(at)
        return self._by_id.get(_key(identity), [])


class Moved:
    """Which index each call of the provider's got; of at most `MANY`."""

    def __init__(self) -> None:
        self._ours: dict[Place, int] = {}
        self._by_id: dict[tuple[Place, Json], int] = {}

    @property
    def state(self) -> object:
        """What there is by now, to be compared later."""
        return tuple(self._ours.items()), tuple(self._by_id.items())

    def get(self, theirs: Place) -> int:
        """Return our index for *theirs*; where none is recorded, the same."""
        return self._ours.get(theirs, theirs[1])

    def find(self, theirs: Place, identity: Json) -> int | None:
        """Return our index of the call that opened at *theirs* with this id, if any did."""
        return self._by_id.get((theirs, _key(identity)))

    def open(self, theirs: Place, identity: Json, ours: int) -> None:
        """Record that the call with this id, as received, opened at *theirs*."""
        if len(self._by_id) < MANY:
            self._by_id[theirs, _key(identity)] = ours

    def is_new(self, place: Place) -> bool:
        """Tell whether no call is recorded under this place yet."""
        return place not in self._ours and len(self._ours) < MANY

    def note(self, theirs: Place, ours: int) -> bool:
        """Record that *theirs* is now *ours*, unless there are too many."""
        if theirs not in self._ours and len(self._ours) >= MANY:
            return False
        self._ours[theirs] = ours
        return True


class Counted:
    """Which index the calls without one get; of at most `MANY`.

    It is one that the provider has not given to another call: more of that one
    has its index.
    """

    def __init__(self) -> None:
        self._theirs: dict[Place, None] = {}
        self._ours: dict[Place, int] = {}

    @property
    def state(self) -> object:
        """What there is by now, to be compared later."""
        return tuple(self._ours.items()), tuple(self._theirs)

    def given(self, theirs: Place) -> None:
        """Record an index that the provider gave."""
        if len(self._theirs) < MANY:
            self._theirs[theirs] = None

    def get(self, place: Place) -> int:
        """Return the index of the call that is counted as *place*."""
        return self._ours.get(place, place[1])

    def open(self, place: Place) -> None:
        """Record that a call is opened which is counted as *place*."""
        index, at = place
        ours = [each for (choice, _), each in self._ours.items() if choice == index]
        if (ours or place in self._theirs) and len(self._ours) < MANY:
            theirs = [each for choice, each in self._theirs if choice == index]
            self._ours[place] = max(at - 1, *ours, *theirs) + 1


def _key(identity: Json) -> Json:
    """Return what tells ids apart: a list or an object cannot be looked up."""
    return repr(identity) if isinstance(identity, list | dict) else identity
