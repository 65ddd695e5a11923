"""The ids of the calls in an answer."""

from collections.abc import Iterable

from ...wire.json_text import Json


class CallIds:
    """Gives each call of an answer an id that its conversation does not have yet.

    Some providers count anew in each answer: `call_0`. Messages require ids that are
    unique in a conversation, and Claude Code drops the second call of an id from it. A
    provider takes any id, as long as a call and its result agree.

    Args:
        known: The ids of the calls that the request holds.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)
        self._numbers: dict[str, int] = {}

    def take(self, given: Json) -> str:
        """Return the id for a call that chat names *given*: the same, if it is unique."""
        wanted = given if isinstance(given, str) and given else "toolu_0"
        name, number = wanted, self._numbers.get(wanted, 1)
        while name in self._known:
            number += 1
            name = f"{wanted}_{number}"
        self._numbers[wanted] = number
        self._known.add(name)
        return name
