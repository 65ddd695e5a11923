"""Which fixes do what, by their classes alone: found once for all streams."""

import functools
import re
from collections.abc import Sequence

from .ending.end_hook import EndHook
from .fix import Fix

_LONG = 64 * 1024  # bytes of a chunk in which no key is sought
# Keys with nothing in them, which many providers send all along; texts have no bare quote.
_EMPTY = re.compile(rb'"(tool_calls(?="\s*+:\s*+\[\s*+\])|\w++(?="\s*+:\s*+null))')

type _Kinds = list[type[Fix]]


class FixPlan:
    """Which of some fixes does what, as their classes say: the same for every stream.

    Args:
        fixes: The classes of the fixes, in order.
    """

    def __init__(self, fixes: Sequence[type[Fix]]) -> None:
        def those(*names: str) -> _Kinds:
            return [
                each
                for each in fixes
                if any(getattr(each, name) is not getattr(Fix, name) for name in names)
            ]

        self.names = frozenset(each.name for each in fixes)
        self.made_up = frozenset(each.name for each in fixes if each.makes_up)
        self.holding_calls = frozenset(each.name for each in fixes if each.holds_calls)
        self.reads_texts = any(each.reads_texts for each in fixes)
        self.framing = those("event")
        self.unread = those("unread")
        self.edits = those("edit", "replace")
        self.riders = [each for each in self.edits if each.only_on_changed]
        self.errors = those("error")
        self.stateful = those("state")
        self.waiting = those("waiting")
        self.holding = [each for each in those("flush", "end") if each in self.edits]
        self.at_end: dict[EndHook, _Kinds] = {}
        for each in fixes:
            for hook in each.end_hooks:
                self.at_end.setdefault(hook, []).append(each)
        self._keys = sorted({_key_of(each) for each in self.edits})
        self._keyed: dict[tuple[bool, ...], _Kinds] = {}

    def keys_in(self, payload: bytes) -> tuple[bool, ...]:
        """Return which of the keys are in a chunk's JSON; nothing where that is not sure."""
        if len(payload) > _LONG or payload.find(b"\\u") >= 0:
            return ()  # a key may be spelled in any way
        empty = b" ".join(_EMPTY.findall(payload))
        return tuple(
            [
                payload.find(key) >= 0  # quicker than `in`, which tries numbers first
                and (on_null or payload.count(key) > empty.count(key))
                for key, on_null in self._keys
            ]
        )

    def edits_for(self, there: tuple[bool, ...]) -> _Kinds:
        """Return those that may have something to do where these keys are *there*."""
        if not there:
            return self.edits
        found = self._keyed.get(there)
        if found is None:
            keys = {key for key, is_in in zip(self._keys, there, strict=True) if is_in}
            found = [each for each in self.edits if _key_of(each) in keys]
            self._keyed[there] = found
        return found


def _key_of(kind: type[Fix]) -> tuple[bytes, bool]:
    """Return the key of a fix, and whether there need not be anything in it."""
    return kind.key.encode(), kind.acts_on_null or not kind.key


def plan_of(fixes: Sequence[type[Fix]] | FixPlan) -> FixPlan:
    """Return the plan of *fixes*, if they are not one: of equal ones always the same."""
    return fixes if isinstance(fixes, FixPlan) else _plan_of(tuple(fixes))


@functools.lru_cache(maxsize=256)
def _plan_of(fixes: tuple[type[Fix], ...]) -> FixPlan:
    return FixPlan(fixes)
