"""Which fixes do what, by their classes alone: found once for all streams."""

import functools
from collections.abc import Sequence

from ..fix import Fix, HoldingFix
from ..look import Finding
from .assembled_calls import HOLDING, QUIRKS, AssembledCalls

type _Kinds = list[type[Fix]]


class FixPlan:
    """Which of some fixes does what, as their classes say: the same for every stream.

    A fix that edits chunks has a place among those, and a bit of that number.

    Args:
        fixes: The classes of the fixes, in order.
    """

    def __init__(self, fixes: Sequence[type[Fix]]) -> None:
        asked = _with_assembler(fixes)

        def those(name: str) -> _Kinds:
            own = getattr(Fix, name)
            return [each for each in asked if getattr(each, name) is not own]

        self.names = frozenset(each.name for each in fixes)
        self.framing = those("event")
        self.unread = those("unread")
        self.edits = those("edit")
        self.place_of = {each: at for at, each in enumerate(self.edits)}
        self.riders = [each for each in fixes if each.handles & Finding.LEFT_NULL]
        """Those that act on what a repair leaves: on what the machine changes, too."""
        self.bodies = those("body")
        self.errors = those("error")
        self.holding = [x for x in self.edits if issubclass(x, HoldingFix)]
        self.of_held_data = frozenset(each.name for each in self.holding) | HOLDING
        """The names of the fixes that may put into an event what they held."""
        self.flushing = [x for x in self.holding if x.flush is not HoldingFix.flush]
        # Streams differ little in what is found; a hostile one forgets what others found.
        self.handling = functools.lru_cache(maxsize=1024)(self._handling)
        """Returns the places, as bits, of the fixes that handle what was found."""

    def _handling(self, found: int) -> int:
        handles = [bool(each.handles & found) for each in self.edits]
        return sum(1 << at for at, is_due in enumerate(handles) if is_due)


def _with_assembler(fixes: Sequence[type[Fix]]) -> _Kinds:
    """Return *fixes* with the assembler of calls before the first that it stands for."""
    found = [at for at, each in enumerate(fixes) if each.name in QUIRKS][:1]
    at = found[0] if found else len(fixes)
    return [*fixes[:at], *([AssembledCalls] if found else []), *fixes[at:]]


def plan_of(fixes: Sequence[type[Fix]] | FixPlan) -> FixPlan:
    """Return the plan of *fixes*, if they are not one: of equal ones always the same."""
    return fixes if isinstance(fixes, FixPlan) else _plan_of(tuple(fixes))


@functools.lru_cache(maxsize=256)
def _plan_of(fixes: tuple[type[Fix], ...]) -> FixPlan:
    return FixPlan(fixes)
