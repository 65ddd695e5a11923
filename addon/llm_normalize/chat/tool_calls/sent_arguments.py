"""The arguments of a stream's calls: each part is sent once."""

from ..stream_state import MAX_TRACKED
from .repeated_arguments import (
    NOTHING,
    Waiting,
    begins_object,
    first_fragment,
    flush_held,
    next_fragment,
)
from .sent_call import Call

type Place = tuple[int, int]
"""A choice, and the index of a call in it."""


class SentArguments:
    """The held part of each call's arguments."""

    def __init__(self) -> None:
        self._waiting: dict[Place, Waiting] = {}
        self._grows = False
        self._before = (
            -1,
            self._waiting,
        )  # an event's number, and what was held before

    @property
    def state(self) -> object:
        """What determines how the next fragment is sent, to be compared later."""
        waits = tuple(self._waiting.items())
        return waits, self._grows

    @property
    def is_busy(self) -> bool:
        """Whether the text of fragments determines what is sent of them."""
        return bool(self._waiting)

    def take(self, place: Place, call: Call | None, arguments: str, n: int) -> str:
        """Return what to send of *arguments* received for the *call* at *place*.

        *n* is the number of the current event.
        """
        waiting = self._waiting.get(place, NOTHING)
        if call is None or not call.length or waiting.encoded:
            sent, now = first_fragment(waiting, arguments)
        elif not waiting.text and not begins_object(arguments):
            return arguments
        elif call.arguments is None:
            sent, now = waiting.text + arguments, NOTHING
        elif not begins_object(call.arguments):
            return arguments
        else:
            sent, text = next_fragment(call, waiting.text, arguments, grows=self._grows)
            now = Waiting(text)
            self._grows = self._grows or (sent != arguments and not text)
        self._put(place, now, n)
        return sent

    def _put(self, place: Place, waiting: Waiting, n: int) -> None:
        if waiting == self._waiting.get(place, NOTHING):
            return
        if self._before[0] != n:
            self._before = n, dict(self._waiting)
        self._waiting.pop(place, None)
        if waiting != NOTHING and len(self._waiting) < MAX_TRACKED:
            self._waiting[place] = waiting

    def undo(self, n: int) -> None:
        """Restore the state before event *n*, which is sent as received."""
        if self._before[0] == n:
            self._waiting = dict(self._before[1])

    def release(
        self, indexes: set[int] | None, calls: dict[Place, Call]
    ) -> list[tuple[Place, str]]:
        """Return what is held of the choices *indexes*, which end; of all if None."""
        found = []
        for place, waiting in list(self._waiting.items()):
            if (indexes is None or place[0] in indexes) and not waiting.encoded:
                before = calls[place].arguments if place in calls else None
                sent = flush_held(before, waiting.text) if before else waiting.text
                if sent:
                    del self._waiting[place]
                    found.append((place, sent))
        return found
