"""Which fixes and adaptations the user's options switch on and off, for which hosts."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mitmproxy import http

from .exchange.message.request_facts import named_host
from .fixes import EVERY_FIX
from .options import Values
from .repair.fix import Fix
from .request.adaptation import HostAdaptations
from .request.adaptations import ADAPTATIONS
from .routing.hosts import HostPattern, is_openai


class Selected(NamedTuple):
    """What counts for the answers and requests of one host.

    Attributes:
        fixes: The fixes of its answers, in order.
        skipped: The names of those that are off.
        adaptations: What to change in its requests.
    """

    fixes: tuple[type[Fix], ...]
    skipped: frozenset[str]
    adaptations: HostAdaptations


class FixSelection:
    """Which fixes and adaptations are on, by the options of the user.

    Args:
        options: Those options.
    """

    def __init__(self, options: Values) -> None:
        self._options = options

    def of(self, request: http.Request) -> Selected:
        """The selection for the host of *request*."""
        # Either may be the name that the user knows: behind the `keep_host_header` option, say.
        hosts, port = (request.host, named_host(request)), request.port
        optional = {fix.name for fix in EVERY_FIX if fix.optional}
        if is_openai(request.host):
            optional |= {fix.name for fix in EVERY_FIX if fix.spares_openai}
        options = self._options
        off = optional - options.also | _named(options.skip, hosts, port)
        on = [each for each in ADAPTATIONS if each.name not in off]
        wanted = _named(options.adapt, hosts, port) - off
        return Selected(
            tuple(fix for fix in EVERY_FIX if fix.name not in off),
            frozenset(off),
            HostAdaptations.of(on, hosts, port, wanted),
        )


def _named(
    given: Iterable[tuple[HostPattern | None, str]], hosts: Sequence[str], port: int
) -> set[str]:
    """Return the names that are *given* for a host, by any of its names, or for all."""
    return {
        name
        for pattern, name in given
        if pattern is None or any(pattern.matches(host, port) for host in hosts)
    }
