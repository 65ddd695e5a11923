"""The addon: options and hooks. What to repair is decided elsewhere."""

import functools
import logging
from collections.abc import Awaitable

from mitmproxy import addonmanager, connection, contentviews, ctx, http, tls
from mitmproxy.proxy import server_hooks
from mitmproxy.proxy.mode_specs import ProxyMode as ModeSpec

from .answer_settings import AnswerSettings
from .commands import CommandHooks
from .exchange import unreachable_provider
from .exchange.answer_lifecycle import Answers
from .exchange.message.request_facts import place_of
from .exchange.message.response_headers import answers_events
from .exchange.routing_policy import Routing
from .exchange.source.translation import put_in_protocol
from .exchange.source.waiting_request import WaitingRequests
from .exchange.state.exchange import Exchange
from .exchange.state.open_exchanges import OpenExchanges
from .exchange.unlisted_hosts import UnlistedHosts
from .home.home import Home
from .mitm import certificate_proof
from .mitm.client_stream import close
from .mitm.deferred_options import take_deferred, take_each
from .mitm.flow_list import is_web
from .mitm.proxy_server import is_running
from .mitm.reverse_proxy import (
    let_clients_ask,
    remember_hosts,
    stop_letting_clients_ask,
)
from .mitm.second_request import is_gone
from .options import EVERY, Values, connect_late, declare, pairs_path
from .pause_limiter import PauseLimiter
from .records.pairs_log import PairsLogs
from .records.statistics import Stats
from .routing.gate import warn
from .routing.own_address import LOOP, leads_back
from .routing.routes import is_reverse
from .text.printable import brief
from .views.answer_view import COLUMNS
from .views.before_after import BeforeAfter
from .views.transcript import Transcript

logger = logging.getLogger(__name__)


class Normalize(CommandHooks):
    """Repairs the answers of nearly OpenAI-compatible providers."""

    name = "llm_normalize"  # two addons with one name refuse to load

    def __init__(self) -> None:
        super().__init__(Values(), Stats())
        self._is_configured = False
        self.logs = PairsLogs()
        self._exchanges = OpenExchanges(self._abandon)
        self._routing = Routing()
        self.settings = AnswerSettings(self.options, self.selection, self.logs)
        self._answers = Answers(
            self.stats, self.settings.of, self._routing.translations
        )
        self._unlisted = UnlistedHosts()
        self._waiting = WaitingRequests(self._answers.streams, self._routing.grant)
        self._home = Home(self.stats, self._waiting.queues, EVERY)
        self._is_reloaded = False
        self._pauses = PauseLimiter()

    # -- options -----------------------------------------------------------------

    def load(self, loader: addonmanager.Loader) -> None:
        """Declare the options and the view; what is wrong here ends mitmproxy's start."""
        declare(loader)
        self._is_reloaded = is_running()
        remember_hosts()
        let_clients_ask(lambda: self.options.repairs)
        take_deferred()
        narrow = {"columns": COLUMNS} if is_web() else {}
        for view in (BeforeAfter, Transcript):
            contentviews.add(view(self._refresh, **narrow))

    def configure(self, updated: set[str]) -> None:
        """Apply changed options.

        Raises:
            OptionsError: A value is bad; mitmproxy keeps the old one.
        """
        if updated >= ctx.options.keys():  # at the start
            self._is_configured = True
            take_each(self._take)
        else:
            self._take(updated)

    def _take(self, updated: set[str]) -> None:
        try:
            self.options.take(updated)
        finally:  # behind a bad gate nobody is let in
            self._apply(updated)
        if updated & {"normalize_routes", "mode"}:
            connect_late(self.options.routes)

    def _apply(self, updated: set[str]) -> None:
        """Hand the values of the options to the parts that use them."""
        values, routing = self.options, self._routing
        routing.routes, routing.models = values.routes, values.models
        routing.keys, routing.gate = values.keys, values.gate
        routing.origins, routing.translations.chat_only = values.cors, values.translate
        for each in (self._home, routing, self._exchanges):
            each.hosts = values.hosts
        for part in (self._home, routing, routing.translations):
            part.repairs = values.repairs
        self._home.routes, self._home.gate = values.routes, values.gate
        log = functools.partial(pairs_path, values.pairs)
        self._home.log = log if values.pairs else None
        self._waiting.queues.paces = values.pace
        routing.guard_log()
        if self.logs.current is not None:
            self.logs.current.file.size = values.pairs_size
        if "normalize_pairs" in updated:
            self.logs.current = None  # running answers keep theirs

    def running(self) -> None:
        """Write what clients are given; warn if other users may use the proxy or its keys."""
        self._home.running()
        self._pauses.begin(is_reloaded=self._is_reloaded)
        if not self._is_configured:  # of an addon that another program has added
            take_each(self._take)
        modes = [ModeSpec.parse(each) for each in ctx.options.mode]
        guarded = bool(self._routing.gate or ctx.options.proxyauth)
        has_keys = bool(self._routing.keys.keys)
        warn(modes, ctx.options.listen_host, guarded=guarded, has_keys=has_keys)

    def done(self) -> None:
        """Write the rest of the logs; after a reload, when open streams end."""
        self._pauses.end()
        if ctx.master.should_exit.is_set():
            self._answers.streams.send_rests(self._exchanges)
            self._end()
        else:
            self.logs.share()
            self._answers.hand_over(self._exchanges, self.logs.close)
            for exchange in self._exchanges:
                exchange.hand_over()
            self._forget()

    def _end(self) -> None:
        self._answers.close_all(self._exchanges)
        self.logs.close()
        self._forget()

    def _forget(self) -> None:
        self._waiting.done()
        self._routing.done(self._exchanges)
        self._exchanges.clear()
        stop_letting_clients_ask()

    # -- TLS ---------------------------------------------------------------------

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        """Do not open the TLS of hosts whose answers are not repaired."""
        is_answered = self._routing.client_hello(data)
        is_answered = is_answered or self._home.probe.client_hello(data)
        if (
            is_answered
            or not self.options.only
            or ctx.options.allow_hosts  # names what to open: the user's word
            or is_reverse(data.context.client.proxy_mode)
        ):
            return
        if data.context.server.address is None:
            return  # TLS with the proxy itself; which host is meant comes inside
        host, port, *_ = data.context.server.address
        if not self.options.hosts.include(data.client_hello.sni or host, port):
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

    def server_connect_error(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Let mitmproxy connect once more, as for the certificate of the server."""
        close(data.client, data.server)

    def client_disconnected(self, client: connection.Client) -> None:
        """Close the client's side if mitmproxy has not."""
        close(client, client)
        self._pauses.ended()  # also one that was never opened, and had no exchange

    def server_disconnected(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Close the server's side if mitmproxy has not."""
        close(data.client, data.server)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Log what to do when a client does not trust mitmproxy's CA."""
        self._home.distrusted(data)

    # -- requests and answers ----------------------------------------------------

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """Connect to no server for a host that has a route, or is the proxy's own page."""
        self._routing.connect(flow)
        self._home.probe.connect(flow)

    def http_connect_error(self, flow: http.HTTPFlow) -> None:
        """Log why a host that is opened cannot be connected to."""
        if self.options.hosts.include(flow.request.host, flow.request.port):
            unreachable_provider.log_unconnected(flow)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Send a request where it is to go, and ask for a plain answer.

        What is not compressed need not be undone.
        """
        if self._home.answers(flow):
            return
        exchange = self._exchanges.begin(flow)
        if self._routing.handle_request(exchange):
            return
        if not exchange.is_selected:
            self._unlisted.note(flow, self.options.hosts)
        elif exchange.is_asked and not exchange.waits_for_model:
            self._expect(exchange)

    def request(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Change a request to what its provider accepts; it is sent after this.

        mitmproxy awaits what is returned.
        """
        exchange = self._exchanges.of(flow)
        self._routing.send(exchange)
        if not exchange.is_expected and exchange.is_asked:  # its path is known now
            self._expect(exchange)
        if flow.response is not None or not exchange.is_selected:
            return None
        settings = self.settings.of(exchange)
        if exchange.is_asked:
            self._answers.adapt(exchange)
        return self._waiting.wait(exchange, settings)

    def responseheaders(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Decide how the answer passes: its headers are sent right after this.

        mitmproxy awaits what is returned.
        """
        exchange = self._exchanges.of(flow)
        self._waiting.answered(exchange)
        asked = self._answers.retry_as_asked(exchange)
        if asked is not None:
            return self._begin_unless(exchange, asked)
        return self._answered(exchange)

    async def _begin_unless(
        self, exchange: Exchange, replaced: Awaitable[bool]
    ) -> None:
        if await replaced:
            self._routing.answered(exchange)
        elif (second := self._answered(exchange)) is not None:
            await second

    def _answered(self, exchange: Exchange) -> Awaitable[None] | None:
        second = self._find_second(exchange)
        response = exchange.flow.response
        if exchange.has_begun and second is None and response is not None:
            response.stream = response.stream or True  # it has headers already
        return second

    def _find_second(self, exchange: Exchange) -> Awaitable[None] | None:
        response = exchange.response
        begun = exchange.is_asked and self._begin(exchange)
        self._routing.answered(exchange)  # by now it is known what must be in no log
        second = self._answers.retry_as_chat(exchange)
        # One that streams stays: there is nothing to be found out.
        if second is None and begun and not response.stream:
            second = self._answers.replace_answer(exchange)
        if second is not None or begun:
            return self._second(exchange, second) if second is not None else None
        is_page = self._home.stands_in(exchange.flow)
        if exchange.is_selected and answers_events(response) and not is_page:
            # mitmproxy would hold the whole stream back until its end.
            response.stream = response.stream or True
        return None

    async def _second(self, exchange: Exchange, second: Awaitable[None]) -> None:
        await second
        self._routing.answered(exchange)  # it may have other headers now

    def _begin(self, exchange: Exchange) -> bool:
        flow = exchange.flow
        try:
            self._answers.begin(exchange)
        except Exception:
            name = brief(place_of(flow.request))
            logger.exception("normalize: %s passes as it is", name)
            return False
        return True

    def response(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Repair an answer that is one body, or close the record of a stream.

        mitmproxy awaits what a hook returns (mitmproxy/addonmanager.py).
        """
        self._home.response(flow)
        exchange = self._exchanges.of(flow)
        awaitable = self._answers.end(exchange)
        if awaitable is not None:
            return self._await(awaitable, exchange)
        self._close(exchange)
        return unreachable_provider.wait(flow) if flow.error else None

    async def _await(self, awaitable: Awaitable[None], exchange: Exchange) -> None:
        try:
            await awaitable
        finally:
            self._close(exchange)

    def error(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Answer for a provider that does not; close the record of what broke off."""
        self._home.error(flow)
        exchange, response = self._exchanges.of(flow), None
        if self.options.repairs:
            response = unreachable_provider.error_of(exchange)
        is_early = exchange.has_begun and flow.response is None and not is_gone(flow)
        if response is not None and is_early:
            self._answers.put_in_events(exchange, response)
        elif response is not None:
            put_in_protocol(exchange, response)
            self._routing.grant(flow, response)
        broke = functools.partial(self._broke, exchange)
        send_rest = self._answers.streams.rest_of(exchange)
        return unreachable_provider.end(
            flow, response, broke, send_rest, is_early=is_early
        )

    def _broke(self, exchange: Exchange, status: int | None) -> None:
        self._answers.broke(exchange, status)
        self._close(exchange)

    def _abandon(self, exchange: Exchange) -> None:
        """Close an exchange whose flow mitmproxy has never ended."""
        self._answers.abandon(exchange, "mitmproxy has not ended it")
        self._close(exchange)

    def _close(self, exchange: Exchange) -> None:
        """Close an exchange, once."""
        if self._exchanges.close(exchange):
            self._routing.end(exchange)
            self._pauses.ended(_size_of(exchange.flow))

    def _refresh(self, flow: http.HTTPFlow) -> None:
        """Let *flow* show all that has been sent so far, if its answer streams."""
        exchange = self._exchanges.get(flow)
        running = None if exchange is None else exchange.running
        if running is not None and running.rewriter is not None:
            running.show()

    # -- what counts for one answer ----------------------------------------------

    def _expect(self, exchange: Exchange) -> None:
        """Have a record of an answer, and ask for one that is not compressed."""
        exchange.expect()
        if self.options.repairs:
            exchange.flow.request.headers["accept-encoding"] = "identity"


def _size_of(flow: http.HTTPFlow) -> int:
    answer = flow.response.data.content if flow.response is not None else None
    return len(flow.request.data.content or b"") + len(answer or b"")
