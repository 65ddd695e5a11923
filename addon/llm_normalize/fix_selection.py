"""Which fixes and adaptations the user's options switch on and off, for which hosts."""

from collections.abc import Iterable
from typing import NamedTuple

from mitmproxy import ctx, http

from . import options
from .fixes import EVERY_FIX
from .repair.fix import Fix
from .request.adaptation import Adaptation
from .request.adaptations import ADAPTATIONS
from .routing.hosts import HostPattern


class Selected(NamedTuple):
    """What counts for one flow.

    Attributes:
        fixes: The fixes of its answer, in order.
        adaptations: What to change in its request, in order.
        adapted: Names of the adaptations that its host gets, whatever the model.
    """

    fixes: list[type[Fix]]
    adaptations: list[type[Adaptation]]
    adapted: set[str]


class FixSelection:
    """Which fixes and adaptations are on, by the options of the user.

    Attributes:
        skips: `normalize_skip`: each host, None for all, and the name of what it skips.
        adapted: `normalize_adapt`: each host, and an adaptation that it gets.
        also: `normalize_also`: names of optional fixes that are on.
    """

    def __init__(self) -> None:
        self.skips: list[tuple[HostPattern | None, str]] = []
        self.adapted: list[tuple[HostPattern, str]] = []
        self.also: set[str] = set()

    def update(self, updated: set[str]) -> None:
        """Apply the options whose names are *updated*.

        Raises:
            OptionsError: A value is bad.
        """
        if "normalize_skip" in updated:
            self.skips = [options.skip(text) for text in ctx.options.normalize_skip]
        if "normalize_adapt" in updated:
            self.adapted = [
                options.adapted(each) for each in ctx.options.normalize_adapt
            ]
        if "normalize_also" in updated:
            self.also = {options.also(text) for text in ctx.options.normalize_also}

    def of(self, flow: http.HTTPFlow) -> Selected:
        """Return what counts for *flow*."""
        optional = {fix.name for fix in EVERY_FIX if fix.optional}
        off = optional - self.also | _named(self.skips, flow.request)
        return Selected(
            [fix for fix in EVERY_FIX if fix.name not in off],
            [each for each in ADAPTATIONS if each.name not in off],
            _named(self.adapted, flow.request) - off,
        )


def _named(
    given: Iterable[tuple[HostPattern | None, str]], request: http.Request
) -> set[str]:
    """Return the names that are *given* for the host of *request*, or for all."""
    # Either may be the name that the user knows: behind the `keep_host_header` option, say.
    hosts = {request.host, request.pretty_host}
    return {
        name
        for pattern, name in given
        if pattern is None or any(pattern.matches(host, request.port) for host in hosts)
    }
