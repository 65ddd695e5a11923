"""The settings in force for an answer, made of the options once for each host."""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mitmproxy import http

from .exchange.message.request_facts import named_host, place_of
from .exchange.state.exchange import Exchange
from .exchange.state.settings import Settings
from .fixes import EVERY_FIX
from .mitm.flow_list import is_shown, is_stored
from .options import Values, pairs_path
from .records.pairs_log import PairsLog, PairsLogs
from .repair.fix import Fix
from .request.adaptation import HostAdaptations
from .request.adaptations import ADAPTATIONS
from .routing.hosts import HostPattern, is_openai

logger = logging.getLogger(__name__)

_HOSTS = 256
"""Hosts whose settings are remembered: clients choose the names."""


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


class AnswerSettings:
    """The settings of answers, remembered until an option changes.

    Args:
        options: The values of the options.
        selection: Which fixes and adaptations are on.
        logs: The pairs logs, begun with the first answer that needs one.
    """

    def __init__(
        self, options: Values, selection: FixSelection, logs: PairsLogs
    ) -> None:
        self._options = options
        self._selection = selection
        self._logs = logs
        # By a host's names, its port and its scheme.
        self._known: dict[tuple[str, str, int, str], Settings] = {}
        self._version = 0  # of the options that they are made of

    def of(self, exchange: Exchange) -> Settings:
        """Return the settings of the answer of *exchange*."""
        version = self._options.version
        if exchange.settings is not None and exchange.settings[0] == version:
            return exchange.settings[1]
        request = exchange.flow.request
        place = request.host, named_host(request), request.port, request.scheme
        if self._version != version:
            self._version, self._known = version, {}
        found = self._known.get(place)
        if found is None:
            found = self._made(request)
            # A log that could not begin is tried again.
            if found.log is not None or not self._options.pairs:
                if len(self._known) >= _HOSTS:
                    self._known.clear()
                self._known[place] = found
        exchange.settings = version, found
        return found

    def _made(self, request: http.Request) -> Settings:
        options = self._options
        selected = self._selection.of(request)
        settings = Settings(
            fixes=selected.fixes,
            skipped=selected.skipped,
            adaptations=selected.adaptations,
            strict=options.strict,
            log=self._log(),
            shown=is_shown(),
            stored=is_stored(),
            parse_error_prose=options.gate is None,
            keepalive=options.keepalive,
            begin=options.begin,
            retry=options.retry,
            place=place_of(request),
        )
        return settings if options.repairs else settings.observed()

    def _log(self) -> PairsLog | None:
        if self._logs.current is None and self._options.pairs:
            try:
                path = pairs_path(self._options.pairs)
                self._logs.begin(path, self._options.pairs_size)
            except Exception:  # no log, but no answer goes unrepaired for it
                logger.exception("normalize: the pairs log cannot be opened")
        return self._logs.current
