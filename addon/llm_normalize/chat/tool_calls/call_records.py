"""What is known of each call of a stream: one record for each index of a choice."""

from dataclasses import dataclass

from ..chunks.chunk import Chunk
from ..state.repeated_arguments import NOTHING, Waiting
from ..state.stream_state import MAX_TRACKED

type Place = tuple[int, int]
"""A choice, and the index of a call in it."""


@dataclass(slots=True)
class CallRecord:
    """A call, or several that take turns under one index.

    What was sent of it is in `Seen`, under our index: see `sent_call.Call`.

    Attributes:
        given: The index that stands for the provider's, if the provider has used this one.
        is_own: Whether a call without an index got this one.
        id: The id of that call.
        has_name: Whether that call has a name.
        is_moved: Whether a call moved here, whose index was assigned to another one.
        ours: The index under which the last call here is sent.
        held: Its fragments so far, joined, if they wait for a name.
        since: The number of the event that had the last of them.
        is_named: Whether it waits for no name any more.
        part: The held part of its arguments; this and the rest is under our index.
        goes_on: The index at which another object in its arguments opened a call.
        is_shared: Whether one call followed another here.
    """

    given: int | None = None
    is_own: bool = False
    id: str = ""
    has_name: bool = False
    is_moved: bool = False
    ours: int | None = None
    held: Chunk | None = None
    since: int = -1
    is_named: bool = False
    part: Waiting = NOTHING
    goes_on: int | None = None
    is_shared: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is one call, of which nothing is held."""
        is_one = self.goes_on is None and not (self.is_shared or self.is_moved)
        return is_one and self.is_named and self.part is NOTHING


class CallRecords(dict[Place, CallRecord]):
    """The records of a stream's calls, of at most `MAX_TRACKED`."""

    def __init__(self) -> None:
        super().__init__()
        self._n = -1  # the event of the changes that can be undone
        self._before: dict[Place, tuple[Chunk | None, int, Waiting, int | None]] = {}

    @property
    def has_room(self) -> bool:
        """Whether another one would be remembered."""
        return len(self) < MAX_TRACKED

    def at(self, place: Place) -> CallRecord:
        """Return the record at *place*; one of too many is not remembered."""
        found = self.get(place)
        if found is None:
            found = CallRecord()
            if self.has_room:
                self[place] = found
        return found

    def change(self, place: Place, n: int) -> CallRecord:
        """Return the record at *place*; `undo` restores what it holds before event *n*."""
        if n != self._n:
            self._n, self._before = n, {}
        record = self.at(place)
        state = record.held, record.since, record.part, record.goes_on
        self._before.setdefault(place, state)
        return record

    def settle(self, place: Place) -> None:
        """Note that what is held at *place* is sent, whatever becomes of the event at hand."""
        self._before.pop(place, None)

    def undo(self, n: int) -> bool:
        """Let the records hold what they held before event *n*, which is sent as received.

        Returns:
            Whether that differs.
        """
        before = self._before if n == self._n else {}
        for place, state in before.items():
            record = self.at(place)
            record.held, record.since, record.part, record.goes_on = state
        return bool(before)

    def free(self, index: int) -> int:
        """Return the next index of choice *index* that no call has had."""
        return max((at for choice, at in self if choice == index), default=-1) + 1
