"""The addon: options, commands and hooks. What to repair is decided elsewhere."""

import functools
import logging
import sys
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path
from typing import cast

from mitmproxy import (
    addonmanager,
    command,
    contentviews,
    ctx,
    exceptions,
    flow,
    http,
    tls,
    types,
)
from mitmproxy.proxy import server_hooks
from mitmproxy.proxy.mode_specs import ProxyMode as ModeSpec

from . import options
from .commands import EVERY, capture_rows, fix_rows, one_fix, rerun_rows
from .deferred_options import take_deferred, take_each
from .exchange import outage
from .exchange.answer_lifecycle import Answers
from .exchange.exchange import Exchange
from .exchange.flow_list import is_shown
from .exchange.open_exchanges import OpenExchanges
from .exchange.request_facts import place_of
from .exchange.response_headers import answers_events
from .exchange.routing_policy import Routing
from .exchange.running_answer import Settings
from .fixes import EVERY_FIX
from .home.home import Home
from .inspect.before_after import BeforeAfter
from .inspect.transcript import Transcript
from .records.pairs_log import PairsLog
from .records.statistics import Stats
from .repair.fix import Fix
from .request.adaptations import ADAPTATIONS
from .routing import certificate_proof
from .routing.gate import warn
from .routing.hosts import PROVIDERS, HostPattern, Hosts, is_openai
from .routing.own_address import LOOP, leads_back, remember_hosts
from .routing.routes import is_reverse
from .text.printable import brief

logger = logging.getLogger(__name__)

_SWITCH = 0.0005
"""Seconds for which a thread (the log, a large body) may hold the event loop up."""


class Normalize:
    """Repairs the answers of nearly OpenAI-compatible providers."""

    name = "llm_normalize"  # two addons with one name refuse to load

    def __init__(self) -> None:
        self.hosts = Hosts.parse(PROVIDERS)
        self.skips: list[tuple[HostPattern | None, str]] = []
        self.adapted: list[tuple[HostPattern, str]] = []
        self.also: set[str] = set()
        self.stats = Stats()
        self._log: PairsLog | None = None
        self._logs: dict[Path, PairsLog] = {}
        self._answers = Answers(self.stats)
        self._exchanges = OpenExchanges(self._abandon)
        self._routing = Routing()
        self._home = Home(self.stats)
        self.addons = [outage.Connections()]  # mitmproxy calls its hooks, too

    # -- options -----------------------------------------------------------------

    def load(self, loader: addonmanager.Loader) -> None:
        """Declare the options and the view; what is wrong here ends mitmproxy's start."""
        options.declare(loader)
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH))
        remember_hosts()
        self._routing.load()
        take_deferred()
        for view in (BeforeAfter, Transcript):
            contentviews.add(view(self._refresh))

    def configure(self, updated: set[str]) -> None:
        """Take changed options over.

        Raises:
            OptionsError: A value is bad; mitmproxy keeps the old one.
        """
        if updated >= ctx.options.keys():  # at the start
            take_each(self._take)
        else:
            self._take(updated)

    def _take(self, updated: set[str]) -> None:
        if "normalize_mode" in updated:
            options.check_mode(ctx.options.normalize_mode)
        if "normalize_hosts" in updated:
            self.hosts = options.hosts(ctx.options.normalize_hosts)
        options.set_routing(self._routing, updated)
        if updated & {"normalize_routes", "mode"}:
            options.connect_late(self._routing.routes)
        self._home.hosts, self._home.routes = self.hosts, self._routing.routes
        self._routing.hosts = self._exchanges.hosts = self.hosts
        self._take_repairs(updated)
        for name in updated & {"normalize_keepalive", "normalize_retry"}:
            options.check_seconds(name, getattr(ctx.options, name))
        if "normalize_pairs_size" in updated:
            size = options.size(ctx.options.normalize_pairs_size)
            if self._log is not None:
                self._log.size = size
        if "normalize_pairs" in updated:
            options.check_pairs(ctx.options.normalize_pairs)
            self._log = None  # running answers keep theirs

    def _take_repairs(self, updated: set[str]) -> None:
        """Take over which fixes and adaptations are on."""
        if "normalize_skip" in updated:
            self.skips = [options.skip(text) for text in ctx.options.normalize_skip]
        if "normalize_adapt" in updated:
            self.adapted = [
                options.adapted(each) for each in ctx.options.normalize_adapt
            ]
        if "normalize_also" in updated:
            self.also = {options.also(text) for text in ctx.options.normalize_also}

    def running(self) -> None:
        """Warn of what stands open."""
        modes = [ModeSpec.parse(each) for each in ctx.options.mode]
        guarded = bool(self._routing.gate or ctx.options.proxyauth)
        has_keys = bool(self._routing.keys.keys)
        warn(modes, ctx.options.listen_host, guarded=guarded, has_keys=has_keys)

    def done(self) -> None:
        """Write what is left of the logs; after a reload, when open streams end."""
        if ctx.master.should_exit.is_set():
            self._answers.send_rests(self._exchanges)
            self._end()
        else:
            for log in self._logs.values():
                log.share()
            self._answers.hand_over(self._exchanges, self._close_logs)
            for exchange in self._exchanges:
                exchange.hand_over()
            self._forget()

    def _end(self) -> None:
        self._answers.close_all(self._exchanges)
        self._close_logs()
        self._forget()

    def _forget(self) -> None:
        self._routing.done(self._exchanges)
        self._exchanges.clear()

    def _close_logs(self) -> None:
        for log in self._logs.values():
            log.close()

    # -- commands ----------------------------------------------------------------

    @command.command("normalize.stats")
    def stats_command(self) -> types.Data:
        """Show what was repaired, by host, model and fix."""
        return _table(self.stats.rows())

    @command.command("normalize.fixes")
    @command.argument("name", type=types.Choice("normalize.fixes.names"))
    def fixes_command(self, name: str = "") -> types.Data:
        """Show all fixes, and which of them are skipped; or all about one."""
        named = [fix for fix in EVERY if fix.name == name]
        rows = [row for fix in named for row in one_fix(fix, self.skips, self.adapted)]
        return _table(rows or fix_rows(EVERY, self.skips))

    @command.command("normalize.fixes.names")
    def names_command(self) -> Sequence[str]:
        """List the names of all fixes."""
        return [each.name for each in EVERY]

    @command.command("normalize.rerun")
    def rerun_command(self, flows: Sequence[flow.Flow]) -> types.Data:
        """Show what today's fixes do to the original answer, and what differs from then."""
        strict = ctx.options.normalize_strict
        return _table(rerun_rows(flows, self._fixes_for, strict=strict))

    @command.command("normalize.capture")
    def capture_command(
        self, flows: Sequence[flow.Flow], folder: types.Path, fill: bool = False
    ) -> types.Data:
        """Write capture folders for a bug report, without keys and ids.

        With *fill*, all words are replaced by others of the same length.
        """
        where = Path(folder).expanduser()
        try:
            return _table(capture_rows(flows, where, self._fixes_for, fill=fill))
        except OSError as error:
            raise exceptions.CommandError(
                f"normalize.capture: {where}: {error.strerror or error}"
            ) from error

    # -- TLS ---------------------------------------------------------------------

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        """Leave the TLS of hosts that are not ours closed."""
        is_answered = self._routing.client_hello(data) or self._home.client_hello(data)
        if (
            is_answered
            or not ctx.options.normalize_only
            or ctx.options.allow_hosts  # names what to open: the user's word
            or is_reverse(data.context.client.proxy_mode)
        ):
            return
        if data.context.server.address is None:
            return  # TLS with the proxy itself; which host is meant comes inside
        host, port, *_ = data.context.server.address
        if not self.hosts.include(data.client_hello.sni or host, port):
            data.ignore_connection = True

    def tls_start_server(self, data: tls.TlsData) -> None:
        """Have a server prove its name before it gets a key."""
        self._routing.start_tls(data)

    def tls_established_server(self, data: tls.TlsData) -> None:
        """Remember what a server has proved."""
        certificate_proof.remember(data)

    def server_connect(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Do not let the proxy connect to itself."""
        if data.server.error is None and leads_back(data):
            data.server.error = LOOP

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Say what to do when a client does not trust mitmproxy's CA."""
        self._home.distrusted(data)

    # -- requests and answers ----------------------------------------------------

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """Ask nothing of a host that has a route, or is none."""
        self._routing.connect(flow)
        self._home.connect(flow)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Send a request where it is to go, and ask for a plain answer.

        What is not compressed need not be undone.
        """
        if self._home.answers(flow):
            return
        exchange = self._exchanges.begin(flow)
        if self._routing.answers(exchange):
            return
        if exchange.is_chat and not exchange.waits_for_model:
            _expect(exchange)

    def request(self, flow: http.HTTPFlow) -> None:
        """Change a request to what its provider accepts; it is sent after this."""
        exchange = self._exchanges.of(flow)
        waited = exchange.waits_for_model
        self._routing.send(exchange)
        if waited and exchange.is_chat:
            _expect(exchange)
        if flow.response is None and exchange.is_chat:
            self._answers.adapt(exchange, self._settings(flow))

    def responseheaders(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Decide how the answer passes: its headers are sent right after this.

        mitmproxy awaits what is returned.
        """
        response = flow.response
        assert response is not None
        exchange = self._exchanges.of(flow)
        begun = exchange.is_chat and self._begin(exchange)
        self._routing.answered(exchange)  # by now it is known what must be in no log
        if begun:
            second = self._answers.second(exchange)
            return self._second(exchange, second) if second is not None else None
        if exchange.is_selected and answers_events(response):
            # mitmproxy would hold the whole stream back until its end.
            response.stream = response.stream or True
        return None

    async def _second(self, exchange: Exchange, second: Awaitable[None]) -> None:
        await second
        self._routing.answered(exchange)  # it may have other headers now

    def _begin(self, exchange: Exchange) -> bool:
        flow = exchange.flow
        try:
            self._answers.begin(exchange, self._settings(flow))
        except Exception:
            name = brief(place_of(flow.request))
            logger.exception("normalize: %s passes as it is", name)
            return False
        return True

    def response(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Repair an answer in one piece, or close the record of a stream.

        mitmproxy awaits what a hook returns (mitmproxy/addonmanager.py).
        """
        exchange = self._exchanges.of(flow)
        awaitable = self._answers.end(exchange)
        if awaitable is not None:
            return self._await(awaitable, exchange)
        self._close(exchange)
        return outage.wait(flow) if flow.error else None

    async def _await(self, awaitable: Awaitable[None], exchange: Exchange) -> None:
        try:
            await awaitable
        finally:
            self._close(exchange)

    def error(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Answer for a provider that does not; close the record of what broke off."""
        exchange, response = self._exchanges.of(flow), None
        if ctx.options.normalize_mode == "repair":
            response = outage.error_of(exchange)
        if response is not None:
            self._routing.grant(flow, response)
        broke = functools.partial(self._broke, exchange)
        return outage.end(flow, response, broke, self._answers.rest_of(exchange))

    def _broke(self, exchange: Exchange, status: int | None) -> None:
        self._answers.broke(exchange, lambda: self._settings(exchange.flow), status)
        self._close(exchange)

    def _abandon(self, exchange: Exchange) -> None:
        """Close an exchange whose flow mitmproxy has never ended."""
        self._answers.abandon(exchange, "mitmproxy has not ended it")
        self._close(exchange)

    def _close(self, exchange: Exchange) -> None:
        """Close an exchange, once."""
        if self._exchanges.close(exchange):
            self._routing.end(exchange)

    def _refresh(self, flow: http.HTTPFlow) -> None:
        """Let *flow* show all that has been sent so far, if its answer streams."""
        exchange = self._exchanges.get(flow)
        running = None if exchange is None else exchange.running
        if running is not None and running.rewriter is not None:
            running.show()

    # -- what counts for one answer ----------------------------------------------

    def _fixes_for(self, flow: http.HTTPFlow) -> list[type[Fix]]:
        off = self._off(flow)
        return [fix for fix in EVERY_FIX if fix.name not in off]

    def _off(self, flow: http.HTTPFlow) -> set[str]:
        """Return the names of what is not to be done to *flow*."""
        optional = {fix.name for fix in EVERY_FIX if fix.optional}
        if is_openai(flow.request.host):
            optional |= {fix.name for fix in EVERY_FIX if fix.spares_openai}
        return optional - self.also | _named(self.skips, flow.request)

    def _settings(self, flow: http.HTTPFlow) -> Settings:
        off = self._off(flow)
        return Settings(
            fixes=[fix for fix in EVERY_FIX if fix.name not in off],
            adaptations=[each for each in ADAPTATIONS if each.name not in off],
            observe=ctx.options.normalize_mode == "observe",
            strict=ctx.options.normalize_strict,
            log=self._pairs_log(),
            shown=is_shown(),
            adapted=_named(self.adapted, flow.request) - off,
            words=self._routing.gate is None,
            keepalive=ctx.options.normalize_keepalive,
            retry=ctx.options.normalize_retry,
        )

    def _pairs_log(self) -> PairsLog | None:
        """Return the pairs log, begun with the first answer that needs it."""
        if self._log is None and ctx.options.normalize_pairs:
            try:
                self._log = self._log_at(
                    options.pairs_path(ctx.options.normalize_pairs)
                )
            except Exception:  # no log, but no answer goes unrepaired for it
                logger.exception("normalize: there is no pairs log")
        return self._log

    def _log_at(self, path: Path) -> PairsLog:
        log = self._logs.get(path)  # the option may have changed back
        size = options.size(ctx.options.normalize_pairs_size)
        if log is None:
            log = self._logs[path] = PairsLog(
                path, size, lambda text: logger.warning("normalize: %s", text)
            )
        log.size = size
        return log


def _expect(exchange: Exchange) -> None:
    """Have a record of an answer, and ask for one that is not compressed."""
    exchange.expect()
    if ctx.options.normalize_mode == "repair":
        exchange.flow.request.headers["accept-encoding"] = "identity"


def _named(
    given: Iterable[tuple[HostPattern | None, str]], request: http.Request
) -> set[str]:
    """Return the names that are *given* for the host of *request*, or for all."""
    # Either may be the name that the user knows: behind a kept host header, say.
    hosts = {request.host, request.pretty_host}
    return {
        name
        for pattern, name in given
        if pattern is None or any(pattern.matches(host, request.port) for host in hosts)
    }


def _table(rows: Iterable[Sequence[str]]) -> types.Data:
    return cast(types.Data, [list(row) for row in rows])
