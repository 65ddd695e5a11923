"""Which fixes do what, by their classes alone: found once for all streams."""

import functools
from collections.abc import Sequence

from ..chat.chunks.chunk import Chunk
from ..chat.chunks.chunk_shape import Shape, keys_of
from .call_fix import AssembledCalls, CallFix
from .ending.end_hook import EndHook
from .fix import Fix

_SHAPES = 256  # that are known at once: for another one, the oldest is forgotten

type _Kinds = list[type[Fix]]


class Dispatch:
    """Which fixes are asked about a chunk of some shape.

    Attributes:
        then: The dispatch of what the fix at a place makes of the chunk, if that is sure.

    Args:
        acting: Those that may act, with their places, in order.
    """

    __slots__ = ("_acting", "_behind", "then")

    def __init__(self, acting: Sequence[tuple[int, type[Fix]]]) -> None:
        self.then: dict[int, Dispatch] = {}
        self._acting = acting
        self._behind: dict[int, Sequence[tuple[int, type[Fix]]]] = {}

    def behind(self, place: int) -> Sequence[tuple[int, type[Fix]]]:
        """Return the fixes to be asked behind a *place*, with their own, in order.

        It is negative for a chunk that none has changed.
        """
        found = self._behind.get(place)
        if found is None:
            found = self._behind[place] = [
                (at, kind)
                for at, kind in self._acting
                if at > place and not (place < 0 and kind.only_on_changed)
            ]
        return found


class FixPlan:
    """Which of some fixes does what, as their classes say: the same for every stream.

    Args:
        fixes: The classes of the fixes, in order.
    """

    def __init__(self, fixes: Sequence[type[Fix]]) -> None:
        asked = _with_assembler(fixes)

        def those(*names: str) -> _Kinds:
            return [
                each
                for each in asked
                if any(getattr(each, name) is not getattr(Fix, name) for name in names)
            ]

        self.names = frozenset(each.name for each in fixes)
        self.holding_calls = frozenset(each.name for each in fixes if each.holds_calls)
        self.framing = those("event")
        self.unread = those("unread")
        self.edits = those("edit", "replace")
        self.place_of = {each: at for at, each in enumerate(self.edits)}
        """The places of those that edit chunks among them."""
        self.riders = [each for each in self.edits if each.only_on_changed]
        self.errors = those("error")
        self.waiting = those("waiting")
        self.waiting_briefly = [each for each in self.waiting if not each.holds_calls]
        self.holding = [each for each in those("flush", "end") if each in self.edits]
        self.at_end: dict[EndHook, _Kinds] = {}
        for each in fixes:
            for hook in each.end_hooks:
                self.at_end.setdefault(hook, []).append(each)
        self.dispatch_to_all = Dispatch([*enumerate(self.edits)])
        """Asks all that edit chunks."""
        self._by_shape: dict[Shape, Dispatch] = {}

    def known_dispatch(self, shape: Shape) -> Dispatch | None:
        """Return the fixes for chunks of this *shape* if that has been met before."""
        return self._by_shape.get(shape)

    def add_dispatch(self, shape: Shape, chunk: Chunk) -> Dispatch:
        """Return the fixes that may have something to do with *chunk*, of a new *shape*."""
        if len(self._by_shape) >= _SHAPES:
            del self._by_shape[next(iter(self._by_shape))]
        found = self._by_shape[shape] = self._dispatch_for(chunk)
        return found

    def _dispatch_for(self, chunk: Chunk) -> Dispatch:
        keys, filled = map("\n".join, keys_of(chunk))
        acting = list[tuple[int, type[Fix]]]()
        for place, each in enumerate(self.edits):
            there = keys if each.acts_on_null else filled
            sought = (each.key,) if isinstance(each.key, str) else each.key
            if any(key in there for key in sought) and _may_act(each, chunk):
                acting.append((place, each))
        return Dispatch(acting)


def _with_assembler(fixes: Sequence[type[Fix]]) -> _Kinds:
    """Return *fixes* with the assembler of calls before the first that it stands for."""
    first = next(
        (at for at, each in enumerate(fixes) if issubclass(each, CallFix)), None
    )
    return (
        [*fixes] if first is None else [*fixes[:first], AssembledCalls, *fixes[first:]]
    )


def _may_act(kind: type[Fix], chunk: Chunk) -> bool:
    try:
        return kind.may_act(chunk)
    except Exception:  # noqa: BLE001 - a fix may fail in any way: it is asked itself then
        return True


def plan_of(fixes: Sequence[type[Fix]] | FixPlan) -> FixPlan:
    """Return the plan of *fixes*, if they are not one: of equal ones always the same."""
    return fixes if isinstance(fixes, FixPlan) else _plan_of(tuple(fixes))


@functools.lru_cache(maxsize=256)
def _plan_of(fixes: tuple[type[Fix], ...]) -> FixPlan:
    return FixPlan(fixes)
