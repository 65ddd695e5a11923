"""Where requests go, and with what: routes, model names, keys, the gate, web origins.

All changes are undone when the answer arrives, so that a flow shows what the client
requested, and no saved flow has a key.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from mitmproxy import connection, ctx, http, tls

from ..mitm import certificate_proof
from ..mitm.reverse_proxy import asked_host, forget_hosts, knows_hosts
from ..mitm.saved_flows import unguard_flows
from ..request.refusals.gone_models import STATUSES as GONE
from ..request.refusals.gone_models import GoneModels, is_model_gone
from ..routing import cors
from ..routing.gate import (
    is_asked,
    is_list,
    is_model,
    is_plain,
    is_upgrade,
    key_refused,
    not_found,
    refusal,
    refused,
    upgrade_refused,
    wants_key,
)
from ..routing.hosts import Hosts
from ..routing.key_echo import LogFilter
from ..routing.key_on_request import GuardedKey, without_credentials
from ..routing.keys import Keys, Secret
from ..routing.model_names import MAPPED, Models, model_in
from ..routing.own_address import is_address, is_here
from ..routing.routes import Routed, Routes, Target, is_reverse
from ..text.printable import brief
from ..wire.content_encoding import LargeBodyError
from .message.message_body import content_of, plain_body, put_content, request_body
from .message.request_facts import place_of, places_of, quoted
from .request.adapted_request import Adapted
from .source.translation import TranslationMemory, put_in_protocol
from .source.workers_ai_run import translate
from .state.exchange import Exchange

logger = logging.getLogger(__name__)

_OK = 200
_OPENED = "llm_normalize_opened"
"""Marks a client's connection whose TLS was opened for a route; it outlasts a reload."""


@dataclass(slots=True)
class Routing:
    """What is changed in requests, and undone.

    Attributes:
        routes: Where requests go instead.
        models: Models by other names.
        keys: The keys for hosts.
        gate: The token that clients have to present, if one is wanted.
        origins: Origins whose pages may call a reverse proxy.
        hosts: The hosts that are opened.
        translations: Which requests are translated to chat.
        gone: Models that are listed and not there.
        repairs: Whether anything is changed, and not only observed.
    """

    routes: Routes = field(default_factory=Routes)
    models: Models = field(default_factory=Models)
    keys: Keys = field(default_factory=Keys)
    gate: Secret | None = None
    origins: frozenset[str] = frozenset()
    hosts: Hosts = field(default_factory=Hosts)
    translations: TranslationMemory = field(default_factory=TranslationMemory)
    gone: GoneModels = field(default_factory=GoneModels)
    repairs: bool = True
    _log_filter: LogFilter = field(init=False)
    _withheld: set[Secret] = field(default_factory=set)  # logged once for each

    def __post_init__(self) -> None:
        self._log_filter = LogFilter(self._secrets)

    def guard_log(self) -> None:
        """Keep keys out of mitmproxy's log, if there are any: each line costs time."""
        guard = self._log_filter
        put = guard.logger.addFilter if self._secrets() else guard.logger.removeFilter
        put(guard)

    def _secrets(self) -> list[Secret]:
        return [*(each for _, each in self.keys.keys), *filter(None, [self.gate])]

    # -- before a request ------------------------------------------------------------

    def connect(self, flow: http.HTTPFlow) -> None:
        """Do not connect to a host that has a route: requests go elsewhere.

        mitmproxy connects early unless there is an answer to CONNECT
        (mitmproxy/proxy/layers/http/__init__.py, `handle_connect_regular`).
        """
        place = flow.request.host, flow.request.port
        if flow.response is None and self.routes.has(*place):
            flow.response = http.Response.make(200)
            flow.response.headers.clear()

    def client_hello(self, data: tls.ClientHelloData) -> bool:
        """Tell whether a client wants TLS with a host that has a route."""
        server = data.context.server
        host, port, *_ = server.address or ("", None)
        if not self.routes.has(data.client_hello.sni or host, port):
            return False
        setattr(data.context.client, _OPENED, True)
        if not server.connected:
            server.tls = False  # else mitmproxy would ask it first for its certificate
        return True

    def start_tls(self, data: tls.TlsData) -> None:
        """Require a server with a key to prove the host name that the key is for."""
        assert isinstance(data.conn, connection.Server)
        host, port, *_ = data.conn.address or ("", 0)
        if self.keys.secret(host, port) is not None:
            certificate_proof.demand(data.conn, host)

    # -- a request -------------------------------------------------------------------

    def handle_request(self, exchange: Exchange) -> bool:
        """Check the gate and apply the route; tell whether the proxy answered itself.

        If this code raises, the request is refused.
        """
        try:
            return self._handle_request(exchange)
        except Exception:
            logger.exception("normalize: a request cannot be let in")
            exchange.flow.response = refusal(
                500, "The proxy failed at this request.", None
            )
            return True

    def _handle_request(self, exchange: Exchange) -> bool:
        flow = exchange.flow
        request = flow.request
        target = self._target(request)
        by_model = bool(self.routes.routes) and any(
            self.routes.by_model(*place) for place in places_of(request)
        )
        if target is None:
            self._keep_scheme(flow)
        if not (exchange.is_selected or target is not None or by_model):
            return False
        is_routed = target is not None or by_model
        exchange.endpoint = self.translations.endpoint(request, is_routed=is_routed)
        answer = self._own_answer(exchange, target, by_model=by_model)
        if answer is not None:
            put_in_protocol(exchange, answer)
            flow.response = answer
            return True
        if exchange.endpoint is not None or by_model:
            _ = exchange.client  # a key of the proxy may replace the client's key
        exchange.is_let_in = self.gate is not None
        if target is not None:
            exchange.route = Routed.send(request, target)
        # A request that mitmproxy streams is sent before its model is known.
        exchange.waits_for_model = by_model and not request.stream
        return False

    def _keep_scheme(self, flow: http.HTTPFlow) -> None:
        if getattr(flow.client_conn, _OPENED, False):
            # Its TLS was opened for a route: the client still expects TLS.
            flow.request.scheme = "https"

    def _own_answer(
        self, exchange: Exchange, target: Target | None, *, by_model: bool
    ) -> http.Response | None:
        """Return the proxy's own answer; None if the request is forwarded.

        Args:
            exchange: The exchange.
            target: Where its request goes, if it has a route.
            by_model: Whether its model may select a route.
        """
        flow, request = exchange.flow, exchange.flow.request
        is_routed = target is not None or by_model
        secret = self.keys.secret(request.host, request.port)
        answer, is_other = None, exchange.endpoint is not None
        if self.gate is not None:
            answer = refused(request, self.gate, is_translated=is_other)
        if (is_routed or self.gate or secret) and not is_plain(request.path):
            return not_found(request)
        origin = self._origin(flow)
        if origin is not None and cors.is_preflight(request):
            return cors.preflight(request, origin)
        if answer is not None:
            return answer
        if is_upgrade(request) and (
            is_routed
            or self.gate
            or (is_reverse(flow.client_conn.proxy_mode) and self.repairs)
            or self.translations.refuses_upgrade(exchange)
        ):
            return upgrade_refused()
        if target is not None and target.is_workers_ai and not _is_asked(exchange):
            return self._unknown(request)
        return None

    def _target(self, request: http.Request, *models: str) -> Target | None:
        """Return where *request* is routed; None if it goes where its client sent it."""
        if not self.routes.routes:
            return None
        found = (self.routes.target(*place, *models) for place in places_of(request))
        return next(filter(None, found), None)

    def _send_by_model(self, exchange: Exchange, content: bytes) -> None:
        """Route a request by its model, whose name is known now."""
        request, asked = exchange.flow.request, model_in(content) or ""
        exchange.waits_for_model = False
        names = filter(None, (asked, self.models.sent(asked)))
        if exchange.route is not None:
            exchange.route.restore(request)
            exchange.route = None
        target = self._target(request, *names)
        if target is not None and target.is_workers_ai and not _is_asked(exchange):
            exchange.flow.response = self._unknown(request)
        elif target is not None:
            exchange.route = Routed.send(request, target)

    def _unknown(self, request: http.Request) -> http.Response:
        """Return the answer to a request that Workers AI's own API does not serve."""
        if not is_list(request):
            return not_found(request)
        body = b'{"object":"list","data":[]}'
        body = self.models.listed(body, self._names(request)) or body
        body = self.translations.listed(request, body) or body
        return http.Response.make(200, body, {"content-type": "application/json"})

    def _names(self, request: http.Request) -> list[tuple[str, str]]:
        """Return the models that routes for the host of *request* name."""
        places = places_of(request)
        return [name for place in places for name in self.routes.names(*place)]

    def _origin(self, flow: http.HTTPFlow) -> str | None:
        if not (self.origins and is_reverse(flow.client_conn.proxy_mode)):
            return None
        return cors.origin_of(flow.request, self.origins)

    def send(self, exchange: Exchange) -> None:
        """Set the model and the key; the request is sent after this."""
        flow = exchange.flow
        if flow.response is not None or not exchange.is_selected:
            return
        try:
            if not self.translations.put_in_chat(exchange):
                self._send(exchange)
        except Exception as error:  # noqa: BLE001 - a bug lets no request out half done
            logger.error(  # noqa: TRY400 - its words may be the request's
                "normalize: a request to %s cannot be prepared: %s",
                brief(place_of(flow.request)),
                type(error).__name__,
            )
            flow.response = refusal(500, "The proxy failed at this request.", None)
        if flow.response is not None:
            exchange.adapted = None  # the request is not sent
            if exchange.translated is None:  # else its answer is translated
                put_in_protocol(exchange, flow.response)

    def _send(self, exchange: Exchange) -> None:
        flow, request = exchange.flow, exchange.flow.request
        waits = exchange.waits_for_model
        exchange.wants_models = (
            is_list(request) or is_model(request)
        ) and self._changes_list(exchange)
        is_read = exchange.endpoint is not None or (
            (self.models.names or exchange.is_workers_ai or waits) and is_asked(request)
        )
        try:
            content = content_of(request) if is_read else plain_body(request)
            if waits:
                self._send_by_model(exchange, content)
        except ValueError as error:
            secret = self.keys.secret(request.host, request.port)
            # Its content, and so its destination, is unknown.
            if exchange.route or waits or secret or self.gate:
                status = 413 if isinstance(error, LargeBodyError) else 400
                message = f"The body of the request is not read: {error}."
                flow.response = refusal(status, message, None)
                return
            content = b""
        is_ours = exchange.is_selected or exchange.is_let_in
        if flow.response is not None or not is_ours:
            return
        if self.translations.handle_request(exchange):
            return
        routed = exchange.route
        secret = self.keys.secret(request.host, request.port)
        self._rename(exchange, content)
        if routed is not None and routed.target.is_workers_ai:
            try:
                translate(exchange, routed.target.base)
            except ValueError as error:
                flow.response = refusal(400, str(error), None)
                return
        if exchange.is_let_in:
            request.trailers = None  # they may hold the token, too
        if secret is not None and (self.gate is None or exchange.is_let_in):
            self._put_key(exchange, secret)

    def _changes_list(self, exchange: Exchange) -> bool:
        """Tell whether the list of models that its client asks for is changed."""
        _ = exchange.client  # a key of the proxy's may take the place of the client's
        has_names = self.models.names or exchange.waits_for_model
        request = exchange.flow.request
        return bool(has_names or self.gone or self.translations.has_list(request))

    def _rename(self, exchange: Exchange, content: bytes) -> None:
        """Set the model name that is sent; *content* is the body of the request."""
        request = exchange.flow.request
        if exchange.translated is not None:
            content = content_of(request)
        renamed = content and self.models.rename(content)
        if renamed:
            edits = exchange.adapted.edits if exchange.adapted is not None else []
            exchange.adapted = Adapted(content, [*edits, (MAPPED, "changed", "model")])
            request.headers.pop("content-encoding", None)
            body, exchange.mapped_model = renamed
            put_content(request, body)  # and its length

    def _put_key(self, exchange: Exchange, secret: Secret) -> None:
        """Add the key, unless a web page would use it, or anybody could read it."""
        flow = exchange.flow
        request = flow.request
        routed = exchange.route
        known = routed.target.base if routed is not None else None
        is_other = exchange.endpoint is not None
        if not exchange.is_workers_ai and not wants_key(
            request, is_other=is_other, known=known
        ):
            if secret not in self._withheld and request.method != "OPTIONS":
                self._withheld.add(secret)
                asked = place_of(request) + request.path.partition("?")[0]
                logger.warning(
                    "normalize: %s passes without the key of normalize_keys, which is "
                    "for chat completions and the list of models, behind the base path of "
                    "an API (logged once)",
                    quoted(flow, f"{request.method} {asked}"),
                )
            return
        flow.response = key_refused(
            flow,
            self.origins,
            is_routed=routed is not None,
            is_known=self.gate is not None or self._is_known(flow),
        )
        if flow.response is None:
            exchange.key = GuardedKey.put_on(flow, secret)
        if exchange.key is not None and routed is not None:
            routed.path = without_credentials(routed.path)

    def _is_known(self, flow: http.HTTPFlow) -> bool:
        """Tell whether the `Host` of a reverse proxy's request leads here by right."""
        if not is_reverse(flow.client_conn.proxy_mode):
            return True
        if not knows_hosts():
            return False
        host = asked_host(flow.request)
        if not host or is_here(host) or is_address(host):  # no page has made it up
            return True
        client = flow.client_conn
        listens = client.proxy_mode.listen_host(ctx.options.listen_host or None)
        here = flow.request.host, client.sockname[0], listens
        routed = (each.host for each in self.routes.routes)
        return host.lower() in here or any(
            each.matches(host, each.port) for each in (*self.hosts.patterns, *routed)
        )

    # -- its answer ------------------------------------------------------------------

    def answered(self, exchange: Exchange) -> None:
        """Remove the key, and let a web page read the answer.

        The key stays until the end if the request may have to be sent again.
        """
        flow, key = exchange.flow, exchange.key
        if key is None and not self.origins:
            return
        is_good = flow.response is not None and flow.response.status_code == _OK
        if key is not None:
            if is_good and not exchange.is_workers_ai:
                key.take_off()
            key.hide_in_head()
        if self.origins and flow.response is not None:
            self.grant(flow, flow.response)

    def grant(self, flow: http.HTTPFlow, response: http.Response) -> None:
        """Let the requesting web page read *response*, if its origin is allowed."""
        origin = self._origin(flow)
        if origin is not None:
            cors.grant(response, origin)

    def end(self, exchange: Exchange) -> None:
        """Make a finished flow show what the client requested."""
        response = exchange.flow.response
        if response is not None and (self.gone or response.status_code in GONE):
            self._note_model(exchange, response)
        if exchange.endpoint or exchange.translated or exchange.instead:
            self.translations.end(exchange)
        self.answered(exchange)  # an answer of our own had no headers before
        if exchange.key is not None:
            exchange.key.close()
        flow, asked = exchange.flow, exchange.route
        if asked is not None:
            if flow.error is not None and flow.response is None:
                logger.warning(
                    "normalize: %s has a route to %s, and no answer arrived from there: %s",
                    brief(asked.host),
                    brief(str(asked.target)),
                    quoted(flow, flow.error.msg),
                )
            asked.restore(flow.request)
        if exchange.wants_models:
            self._list(exchange)

    def _note_model(self, exchange: Exchange, response: http.Response) -> None:
        """Note that the model of a request is not there, or is again."""
        request, status = exchange.flow.request, response.status_code
        if not (exchange.is_chat and self.repairs):
            return
        model = model_in(request_body(request) or b"") or ""
        asked = exchange.route or request  # as a list is asked for
        source = asked.host, asked.port, exchange.client
        if status not in GONE:
            if status == _OK:
                self.gone.remove(source, model)
            return
        try:
            body = content_of(response)
        except ValueError:
            return
        is_gone = is_model_gone(status, body, exchange.path, model)
        if is_gone and self.gone.add(source, model):
            logger.warning(
                "normalize: %s has no model %s (it answers %d): the list of models leaves it "
                "out for an hour",
                brief(place_of(request)),
                quoted(exchange.flow, model),
                status,
            )

    def _list(self, exchange: Exchange) -> None:
        """Let a list of models have the names that clients may request, and no others."""
        flow = exchange.flow
        response = flow.response
        if response is None or not response.raw_content:
            return
        try:
            names = self._names(flow.request)
            body = content_of(response)
            source = flow.request.host, flow.request.port, exchange.client
            there = self.gone.without(body, source) if self.repairs else None
            listed = self.models.listed(there or body, names) or there
            listed = self.translations.listed(flow.request, listed or body) or listed
        except ValueError as error:
            host, why = brief(flow.request.host), brief(str(error))
            message = "normalize: the list of models of %s passes as it is (%s)"
            logger.warning(message, host, why)
            return
        if listed is not None:
            response.headers.pop("content-encoding", None)
            response.content = listed

    def done(self, exchanges: Iterable[Exchange]) -> None:
        """Remove all keys: mitmproxy also saves unfinished flows.

        Args:
            exchanges: The open exchanges.
        """
        for exchange in exchanges:
            if exchange.key is not None:
                exchange.key.close()
        unguard_flows()
        forget_hosts()
        self._log_filter.logger.removeFilter(self._log_filter)


def _is_asked(exchange: Exchange) -> bool:
    """Tell whether a provider that serves only chat completions can answer a request."""
    return is_asked(exchange.flow.request) or exchange.endpoint is not None
