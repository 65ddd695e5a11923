"""The settings in force for one answer: the user's options as they are when it begins."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...records.pairs_log import PairsLog
from ...repair.engine.fix_plan import FixPlan, plan_of
from ...repair.fix import Fix
from ...request.adaptation import HostAdaptations


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force for one answer, from its beginning to its end.

    Attributes:
        fixes: The fixes to apply, in order.
        strict: Drop fields that OpenAI does not define.
        log: The pairs log, if there is one.
        observe: Change nothing, report what would be changed: see `observed`.
        shown: Whether anybody can look at a flow's metadata once it is over.
        stored: Whether anybody can look at its body then, or at the size of that.
        adaptations: What to change in requests.
        parse_error_prose: Whether a refusal's prose is parsed, and not only its fields for
            names. False behind a gate, where clients share what is learned.
        keepalive: Seconds of silence after which a client gets a newline; 0 is never.
        begin: Seconds without headers after which a stream begins; 0 is never.
        retry: Seconds for which a request to a busy provider is retried.
        skipped: The names of fixes that are off.
        place: The host and its port, as records have it; empty if it was not looked up.
    """

    fixes: Sequence[type[Fix]]
    strict: bool
    log: PairsLog | None
    observe: bool = False
    shown: bool = True
    stored: bool = True
    adaptations: HostAdaptations = field(default_factory=HostAdaptations)
    parse_error_prose: bool = True
    keepalive: float = 0
    begin: float = 0
    retry: float = 0
    skipped: frozenset[str] = frozenset()
    place: str = ""
    plan: FixPlan = field(init=False, compare=False)
    """The plan of the fixes: of equal ones the same, and quicker to look up."""

    def __post_init__(self) -> None:
        """Look up the plan."""
        object.__setattr__(self, "plan", plan_of(self.fixes))

    def observed(self) -> "Settings":
        """The same for an answer that is only observed: nothing is added, nor asked again."""
        return replace(self, observe=True, keepalive=0, begin=0, retry=0)

    @property
    def is_read(self) -> bool:
        """Whether anybody can read the record of an answer."""
        return self.log is not None or self.stored

    def applies(self, name: str) -> bool:
        """Tell whether the fix *name* is to be applied, not only observed."""
        return not self.observe and name in self.plan.names
