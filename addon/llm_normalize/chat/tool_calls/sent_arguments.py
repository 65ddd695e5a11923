"""The arguments of a stream's calls: each part is sent once, and one object a call."""

from collections.abc import Callable

from ..chunks.chunk import Chunk, function, index_of
from ..state.repeated_arguments import (
    NOTHING,
    Waiting,
    begins_object,
    first_fragment,
    flush_held,
    next_fragment,
    several_objects,
)
from ..state.sent_call import SentCall, SentCalls
from .open_calls import OpenCall, OpenCalls

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
        calls: The calls of the stream.
    """

    def __init__(self, calls: OpenCalls) -> None:
        self._calls = calls
        self._grows = False

    def fragments(
        self, call: OpenCall, fragment: Chunk, sent: SentCalls, n: int
    ) -> list[Chunk]:
        """Return the fragments that are sent for the *fragment* of a *call*.

        *sent* are the calls of its choice so far, *n* is the number of the current event.
        """
        given = function(fragment).get("arguments")
        if not given or not isinstance(given, str):
            return [fragment]
        received = call
        if received.held.goes_on is not None:
            call = received.held.goes_on
            fragment = {**fragment, "index": call.at}
        waits, name = call.held.part.text, function(fragment).get("name")
        room = len(waits + given)
        opened = call.opened(sent) or SentCall(fragment.get("id"), name, room=room)
        if opened.is_shared:
            return [fragment]
        first, *rest = opened.cut(waits + given)
        if rest:
            opened = opened.copied()
        found: list[Chunk] = []
        for text in (first.removeprefix(waits), *rest):
            due, named = self._take(call, opened, text, n), dict[str, str]()
            if opened.begins_another(due) and self._calls.has_room:
                at = max(sent.last, index_of(fragment)) + 1
                following = self._calls.new(call.choice, at, is_named=True, at=at)
                self._calls.hold(received, n, goes_on=following)
                call = following
                opened = SentCall(None, opened.full_name, room=room)
                fragment = {k: v for k, v in fragment.items() if k != "id"}
                fragment = {"index": at, "type": "function"} | fragment | {"index": at}
                named = {"name": opened.name}
                due = self._take(call, opened, due, n)
            inner = named | function(fragment) | {"arguments": due}
            is_bare = not due and {*fragment, *inner} <= _BARE
            found += [] if is_bare else [{**fragment, "function": inner}]
            if rest:
                opened.add(due)
            fragment = {"index": index_of(fragment)}
        return found

    def _take(self, call: OpenCall, opened: SentCall, arguments: str, n: int) -> str:
        """The part to send of *arguments* received for a *call*, of which is *opened*.

        *n* is the number of the current event.
        """
        waiting = call.held.part
        if not opened.length or waiting.encoded:
            due, now = first_fragment(waiting, arguments)
        elif not waiting.text and not begins_object(arguments):
            return arguments
        elif opened.arguments is None:
            due, now = waiting.text + arguments, NOTHING
        elif not begins_object(opened.arguments):
            return arguments
        else:
            due, text = next_fragment(
                opened, waiting.text, arguments, grows=self._grows
            )
            now = Waiting(text)
            whole = waiting.text + arguments
            self._grows = self._grows or (due != whole and not text)
        if now != waiting:
            self._calls.hold(call, n, part=now)
        return due

    def release(
        self, choices: set[int] | None, calls_of: Callable[[int], SentCalls]
    ) -> list[tuple[OpenCall, str]]:
        """Release the held arguments of the ending *choices*; of all if None.

        *calls_of* returns the calls that a choice has sent.
        """
        found = []
        for call in self._calls.all:
            part, is_due = call.held.part, choices is None or call.choice in choices
            if is_due and part.text and not part.encoded:
                opened = call.opened(calls_of(call.choice))
                before = opened.arguments if opened else None
                if due := flush_held(before, part.text) if before else part.text:
                    self._calls.hold(call, None, part=NOTHING)
                    found.append((call, due))
        return found
