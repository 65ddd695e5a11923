"""Fragments of tool calls that wait for a name, and how two fragments become one."""

from ...wire.json_text import Json, dumps
from ..chunks.chunk import Chunk, function, index_of, name_of
from ..chunks.chunk_content import is_hollow
from ..state.sent_call import brief
from .open_calls import OpenCall, OpenCalls

_LIMIT = 64 * 1024  # bytes that wait for a name
_ONCE = frozenset(("index", "id", "type", "name", "arguments"))


class Unnamed:
    """Fragments of tool calls whose name is missing, or only begins a declared one.

    Args:
        calls: The calls of the stream.
    """

    def __init__(self, calls: OpenCalls) -> None:
        self._calls = calls
        self.waiting: dict[OpenCall, int] = {}
        """What waits, in order, with the number of the last event of each."""
        self._size = 0

    @property
    def choices(self) -> frozenset[int]:
        """The choices of which something waits."""
        return frozenset(call.choice for call in self.waiting)

    def take(self, base: OpenCall, fragment: Chunk, n: int) -> Chunk | None:
        """The fragment to send for *fragment*, if any.

        That is all of a call that has its name by now; without one it waits, and one
        that says nothing is dropped.

        Args:
            base: The call with its index, whose `turn` is its call.
            fragment: The fragment.
            n: The number of the event at hand.
        """
        call = base.turn or base
        if call is not base and base.held.fragment and not base.id:
            fragment = join_fragments(self._pop(base, n), fragment)
        held, name = call.held.fragment, name_of(fragment)
        is_custom = "custom" in fragment and not (name or held)
        is_flat = fragment.get("name") and not fragment.get("function")
        is_other = fragment.get("type") not in (None, "", "function") or is_custom
        is_past = not call.is_tracked or (call.is_named and not (name and held))
        if is_other or is_flat or is_past:  # another kind has no such name
            call.is_named = True
            return fragment
        fragment = _with_name(held, fragment)
        name = name_of(fragment)
        if isinstance(name, str) and not self._calls.tools.may_grow(name):
            call.is_named = True
            if held:
                own = {"index": index_of(fragment)}
                fragment = join_fragments(self._pop(call, n), fragment) | own
            if call is not base and base.at is None:
                # That index is its own from now on.
                call.turn = self._calls.new(call.choice, call.number)
            return fragment
        if held or not is_hollow(fragment):
            joined = join_fragments(held or {"index": call.number}, fragment)
            self._size += _size(joined) - _size(held)
            self._calls.hold(call, n, fragment=joined)
            self.waiting[call] = n
        return None

    def _pop(self, call: OpenCall, n: int | None) -> Chunk:
        """Return what was held of *call*, which waits no more: see `OpenCalls.hold`."""
        del self.waiting[call]
        call.is_named = True
        held = call.held.fragment or {}
        self._size -= _size(held)
        self._calls.hold(call, n, fragment=None)
        return held

    def overflow(self, n: int) -> list[tuple[OpenCall, Chunk]]:
        """Return all that waits where it is too much, at event *n*."""
        return self._give_up([*self.waiting] if self._size > _LIMIT else [], n)

    def settle(self) -> None:
        """Note that the stream ends, and no finish is to be repeated."""
        self.waiting = dict.fromkeys(self.waiting, -1)

    def release(self, ended: set[int] | None, n: int) -> list[tuple[OpenCall, Chunk]]:
        """Release the waiting calls of the choices *ended* before event *n*; all if None.

        A finish beside a fragment is not the last: there are servers that repeat it.
        """
        due = [
            call
            for call, since in self.waiting.items()
            if ended is None or (call.choice in ended and since < n)
        ]
        return self._give_up(due, None)

    def _give_up(
        self, due: list[OpenCall], n: int | None
    ) -> list[tuple[OpenCall, Chunk]]:
        """What is held of *due*: where one id has no name, that is one call."""
        found: dict[OpenCall | tuple[int, str], tuple[OpenCall, Chunk]] = {}
        for call in due:
            held = self._pop(call, n)
            identity = "" if name_of(held) else brief(held.get("id"))
            key = (call.choice, identity) if identity else call
            first, before = found.get(key, (call, {}))
            found[key] = first, join_fragments(before, held) if before else held
        return [*found.values()]

    def undo(self, n: int) -> None:
        """Note what waits again, for event *n* passes unchanged."""
        held = {call: call.held.fragment for call in self._calls.all}
        self.waiting = {call: n for call, each in held.items() if each}
        self._size = sum(map(_size, held.values()))


def _with_name(held: Chunk | None, fragment: Chunk) -> Chunk:
    """Return *fragment* with the name that it and what is *held* have together."""
    before, given = name_of(held or {}), function(fragment).get("name")
    if not (before and given) or given.startswith(before):
        return fragment
    return {**fragment, "function": {**function(fragment), "name": before + given}}


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
