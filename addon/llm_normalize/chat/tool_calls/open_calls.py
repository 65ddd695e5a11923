"""The calls of a stream, and which of them each fragment belongs to.

A provider may leave the index out, use one for two calls, even in turn, count from 1, or
send one call under several. So a fragment belongs to the call with its index or, without
an index, to that with its id, or to the last one; then to another, if its id says so.
"""

from dataclasses import dataclass, replace
from typing import Any

from ..chunks.chunk import Chunk, function, given_index, name_of
from ..state.declared_tools import Tools
from ..state.repeated_arguments import NOTHING, Waiting
from ..state.sent_call import SentCall, SentCalls, brief
from ..state.stream_state import MAX_TRACKED

type Place = tuple[int, int]
"""A choice, and the index of a call in it."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is held of a call, and where it goes on: what `OpenCalls.undo` restores.

    Attributes:
        fragment: Its fragments so far, joined, if they wait for a name.
        part: The held part of its arguments.
        goes_on: The call that another object in its arguments opened.
    """

    fragment: Chunk | None = None
    part: Waiting = NOTHING
    goes_on: "OpenCall | None" = None


_NOTHING_HELD = Held()


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call, from its first fragment on. What was sent of it is in `SentCalls`.

    Attributes:
        choice: Its choice.
        number: The index that was received, or counted for it.
        is_tracked: Whether it is remembered, as none of too many.
        is_counted: Whether it opened without an index.
        id: The id with which it opened, as a text, or the hash of a long one.
        is_named: Whether it waits for no name any more.
        at: The index under which it is sent.
        turn: The call that the last fragment under its index belongs to, if another.
        held: What is held of it.
    """

    choice: int
    number: int
    is_tracked: bool
    is_counted: bool = False
    id: str = ""
    is_named: bool = False
    at: int | None = None
    turn: "OpenCall | None" = None
    held: Held = _NOTHING_HELD

    @property
    def is_plain(self) -> bool:
        """Whether it is sent under its own index, and nothing is held of it."""
        return self.at == self.number and self.is_named and self.held == _NOTHING_HELD

    def opened(self, sent: SentCalls) -> SentCall | None:
        """What was *sent* of it; None before its first fragment was."""
        return None if self.at is None else sent.get(self.at)

    def is_complete(self, sent: SentCalls) -> bool:
        """Tell whether all of it was *sent*, as far as its arguments say."""
        opened = self.opened(sent)
        return opened is not None and opened.is_complete

    def has_name(self, sent: SentCalls) -> bool:
        """Tell whether a part of its name was *sent*, or is held."""
        opened = self.opened(sent)
        return bool(opened.name if opened else name_of(self.held.fragment or {}))

    def place(self, fragment: Chunk, sent: SentCalls) -> bool:
        """Give its *fragment* the index under which it is sent; tell if that is another.

        A call that opens under a taken index, or after a gap, gets the next one.
        """
        if self.opened(sent) is None:
            at, following = self.number, sent.last + 1
            self.at = at if 0 <= at < following and at not in sent else following
        changed = bool(fragment["index"] != self.at)
        fragment["index"] = self.at
        return changed


class OpenCalls:
    """The calls of a stream, of at most `MAX_TRACKED`.

    Args:
        tools: The tools that the request declares.
    """

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.all: list[OpenCall] = []
        self._received: dict[Place, OpenCall] = {}  # the first at a provider's index
        self._numbers: dict[Place, OpenCall] = {}  # the first of each number
        self._ids: dict[tuple[int, str], OpenCall] = {}  # the last with each id
        self._last: dict[int, OpenCall] = {}  # what goes on without an index and an id
        self._n = -1  # the event of the changes that can be undone
        self._before: dict[OpenCall, Held] = {}

    @property
    def has_room(self) -> bool:
        """Whether another call would be remembered."""
        return len(self.all) < MAX_TRACKED

    def new(self, choice: int, number: int, **more: Any) -> OpenCall:
        """Return a new call; one of too many is not remembered."""
        made = OpenCall(choice, number, self.has_room, **more)
        if made.is_tracked:
            self.all.append(made)
        return made

    def _numbered(self, choice: int, number: int, *, is_counted: bool) -> OpenCall:
        """Return a new call, under the next number that is free if that is not."""
        if (choice, number) in self._numbers:
            number = 1 + max(at for index, at in self._numbers if index == choice)
        made = self.new(choice, number, is_counted=is_counted)
        if made.is_tracked:
            self._numbers[choice, number] = made
        return made

    # -- which call a fragment belongs to ------------------------------------------

    def find(
        self, choice: int, fragment: Chunk, sent: SentCalls, *, moves: bool
    ) -> OpenCall:
        """Return the call with the index of a *fragment*, whose `turn` is its call.

        Args:
            choice: Its choice.
            fragment: The fragment.
            sent: The calls that the choice has sent.
            moves: Whether calls may be sent under another index than the provider's.
        """
        identity, theirs = brief(fragment.get("id")), given_index(fragment)
        if theirs is None or theirs < 0:
            base = self._counted(choice, fragment, sent)
        else:
            base = self._given((choice, theirs), fragment, sent)
        last = base.turn or base
        if base.at is None and last.is_complete(sent):
            last = base  # that call is over
        elif moves and self._is_astray(base, fragment, sent):
            last = self._last[choice]
        found = last
        known = self._ids.get((choice, identity))
        if known and identity != last.id and self._is_of(known, last, fragment, sent):
            if moves or known.held.fragment:
                found = known
            else:
                # A part of that call was sent: it waits for no name.
                last.is_named = True
        if self._opens_another(found, fragment, sent):
            found = self.new(choice, base.number, is_counted=base.is_counted)
        base.turn = found
        counted = self._last.get(choice)
        is_last = base.is_counted or not (counted and counted.is_counted)
        if is_last and base.is_tracked:
            self._last[choice] = found
        if identity and (known or len(self._ids) < MAX_TRACKED):
            self._ids[choice, identity] = found
        if found.opened(sent) is None:
            found.id = found.id or identity
        return base

    def _is_of(
        self, known: OpenCall, last: OpenCall, fragment: Chunk, sent: SentCalls
    ) -> bool:
        """Tell whether *fragment*, with the id of the call *known*, is a part of that.

        Else it is of the *last* call under its index, or opens one: all calls may have one
        id, and one that is complete has all of its arguments.
        """
        is_named, is_open = bool(name_of(fragment)), last.opened(sent) is not None
        if known.held.fragment:
            is_begun = known.has_name(sent) and not self._has_rest(
                known, last, fragment
            )
            is_apart = is_begun or (last.held.fragment and last.id)
            return not (is_apart if is_named else is_open)
        if not known.opened(sent) or known.id != brief(fragment.get("id")):
            return False
        is_new = known.is_complete(sent) or is_named or last.has_name(sent)
        return bool(is_open or last.id or not is_new)

    def _has_rest(self, known: OpenCall, last: OpenCall, fragment: Chunk) -> bool:
        """Tell whether *fragment* has the rest of the name that is held of *known*."""
        before, given = name_of(known.held.fragment or {}), name_of(fragment)
        if known.number != last.number or not (before and given):
            return False
        return (
            str(given).startswith(str(before)) or f"{before}{given}" in self.tools.names
        )

    def _is_astray(self, base: OpenCall, fragment: Chunk, sent: SentCalls) -> bool:
        """Tell whether *fragment* begins the last call's arguments at the new index of *base*."""
        is_known = base.opened(sent) or base.turn or base.held.fragment
        last = self._last.get(base.choice)
        at = None if last is None or is_known or not base.is_tracked else last.at
        return at is not None and at == self.begun(fragment, sent)

    def begun(self, fragment: Chunk, sent: SentCalls) -> int | None:
        """The index of the last call that was *sent*, if *fragment* begins its arguments.

        A lost event may have opened another call, and `{}` tells nothing.
        """
        opened = sent.get(sent.last)
        is_head = fragment.get("id") or "type" in fragment
        if is_head or opened is None or opened.begins_late:
            return None
        is_first = not opened.length and function(fragment).get("arguments") != "{}"
        return (
            sent.last if is_first and opened.continues(fragment, self.tools) else None
        )

    def _given(self, place: Place, fragment: Chunk, sent: SentCalls) -> OpenCall:
        """Return the call at an index of the provider's.

        A call that was counted there goes on, but not under the id of another: not where
        it has no name yet, or another one begins.
        """
        found = self._received.get(place)
        if found is None:
            identity, found = brief(fragment.get("id")), self._numbers.get(place)
            is_free = found is not None and found.is_counted
            if found and found.id and identity and found.id != identity:
                is_free = is_free and found.has_name(sent) and not name_of(fragment)
            if found is None or not is_free:
                found = self._numbered(*place, is_counted=False)
            if found.is_tracked:
                self._received[place] = found
        return found

    def _counted(self, choice: int, fragment: Chunk, sent: SentCalls) -> OpenCall:
        """Return the call that *fragment*, without an index, opens or continues."""
        identity, last = brief(fragment.get("id")), self._last.get(choice)
        known = self._ids.get((choice, identity)) if identity else last
        opened = None if last is None else last.opened(sent)
        if opened and known in (None, last) and opened.continues(fragment, self.tools):
            known, goes_on = last, True
        elif known is None:
            goes_on = False
        elif identity:
            goes_on = not self._opens_another(known, fragment, sent)
        else:
            may_lack = known.is_counted or known.opened(sent) is not None
            lacks_name = may_lack and not known.has_name(sent)
            goes_on = lacks_name or not function(fragment).get("name")
        if known is not None and goes_on:
            return known
        return self._numbered(choice, sent.last + 1, is_counted=True)

    def _opens_another(self, call: OpenCall, fragment: Chunk, sent: SentCalls) -> bool:
        """Tell whether *fragment* opens another call than *call*."""
        opened = call.opened(sent)
        if opened and call.id and call.id == brief(fragment.get("id")):
            fragment = fragment | {"id": opened.id}  # it may be made up
        return opened is not None and opened.is_another(fragment, self.tools)

    # -- what is held --------------------------------------------------------------

    def hold(self, call: OpenCall, n: int | None, **more: Any) -> None:
        """Change what is held of a *call*; `undo` restores what is before event *n*.

        Without one it is sent, whatever becomes of the event at hand.
        """
        if n is None:
            self._before.pop(call, None)
        elif n != self._n:
            self._n, self._before = n, {}
        if n is not None:
            self._before.setdefault(call, call.held)
        call.held = replace(call.held, **more)

    def undo(self, n: int) -> bool:
        """Hold what was held before event *n*, which is sent as received.

        Returns:
            Whether that differs.
        """
        before = self._before if n == self._n else {}
        for call, held in before.items():
            call.held = held
        return bool(before)
