"""The arguments of a stream's calls: each part is sent once, and one object a call."""

from collections.abc import Callable

from ..chunks.chunk import Chunk, function, index_of, name_of
from ..state.declared_tools import NONE, Tools
from ..state.repeated_arguments import (
    NOTHING,
    Waiting,
    begins_object,
    first_fragment,
    flush_held,
    next_fragment,
    several_objects,
)
from ..state.sent_call import SentCall, SentCalls, brief
from .call_records import CallRecords, Place

_BARE = {"index", "function", "arguments"}


def calls_apart(call: Chunk) -> list[Chunk]:
    """Return *call*, and a call for each further object in its arguments."""
    inner = function(call)
    given = inner.get("arguments")
    found = several_objects(given) if isinstance(given, str) else []
    bare = {key: each for key, each in call.items() if key not in ("id", "index")}
    made = [{**bare, "function": {**inner, "arguments": each}} for each in found]
    if made:
        inner["arguments"] = found[0]
    return [call, *made[1:]]


class SentArguments:
    """The arguments of a stream's calls.

    Args:
        records: What is known of the calls.
        tools: The tools that the request declares.
    """

    def __init__(self, records: CallRecords, tools: Tools = NONE) -> None:
        self._tools, self._records = tools, records
        self._grows = False

    def fragments(
        self, index: int, call: Chunk, sent: SentCalls, n: int
    ) -> list[Chunk]:
        """Return the fragments that are sent for the fragment *call* of choice *index*.

        *sent* are its calls so far, *n* is the number of the current event.
        """
        place, given = (index, index_of(call)), function(call).get("arguments")
        record = self._records.at(place)
        at = place[1] if record.goes_on is None else record.goes_on
        if (opened := sent.get(at)) and self._is_another(opened, call):
            record.is_shared = True
        if not given or not isinstance(given, str) or record.is_shared:
            return [call]
        waits = self._records.at((index, at)).part.text
        if (index, at) not in self._records:
            return [call]  # one of too many
        room, name = len(waits + given), function(call).get("name")
        opened = opened or SentCall(call.get("id"), name, room=room)
        first, *rest = opened.cut(waits + given)
        if rest:
            opened = opened.copied()
        fragment, found = {**call, "index": at} if at != place[1] else call, []
        for text in (first.removeprefix(waits), *rest):
            due, named = self.take((index, at), opened, text, n), dict[str, str]()
            if opened.begins_another(due) and self._records.has_room:
                at = max(sent.last, at) + 1
                self._records.change(place, n).goes_on = at
                opened = SentCall(None, opened.full_name, room=room)
                fragment = {k: v for k, v in fragment.items() if k != "id"}
                fragment = {"index": at, "type": "function"} | fragment | {"index": at}
                named = {"name": opened.name}
                due = self.take((index, at), opened, due, n)
            inner = named | function(fragment) | {"arguments": due}
            is_bare = not due and {*fragment, *inner} <= _BARE
            found += [] if is_bare else [{**fragment, "function": inner}]
            if rest:
                opened.add(due)
            fragment = {"index": at}
        return found

    def _is_another(self, opened: SentCall, call: Chunk) -> bool:
        """Tell whether *call* opens another call than *opened* under its index."""
        identity = brief(call.get("id"))
        is_other = bool(identity and name_of(call)) and identity != opened.id
        return is_other or opened.is_renamed(call, self._tools)

    def take(self, place: Place, call: SentCall | None, arguments: str, n: int) -> str:
        """The part to send of *arguments* received for the *call* at *place*.

        *n* is the number of the current event.
        """
        waiting = self._records.at(place).part
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
            whole = waiting.text + arguments
            self._grows = self._grows or (sent != whole and not text)
        self._put(place, now, n)
        return sent

    def _put(self, place: Place, part: Waiting, n: int) -> None:
        if part != self._records.at(place).part:
            self._records.change(place, n).part = NOTHING if part == NOTHING else part

    def release(
        self, indexes: set[int] | None, calls_of: Callable[[int], SentCalls]
    ) -> list[tuple[Place, str]]:
        """Release the held arguments of the ending choices *indexes*; of all if None.

        *calls_of* returns the calls that a choice has sent.
        """
        found = []
        for place, record in self._records.items():
            waiting = record.part
            if waiting is NOTHING or waiting.encoded:
                continue
            if indexes is None or place[0] in indexes:
                opened = calls_of(place[0]).get(place[1])
                before = opened.arguments if opened else None
                sent = flush_held(before, waiting.text) if before else waiting.text
                if sent:
                    record.part = NOTHING
                    found.append((place, sent))
        return found
