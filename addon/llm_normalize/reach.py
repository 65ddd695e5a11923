"""Requests on their way: routes, model names, keys, the gate, pages of the web.

All of it is taken back when the answer comes, so that a flow shows what the client asked
for, and no saved flow has a key.
"""

import logging
from dataclasses import dataclass, field

from mitmproxy import http, tls

from . import cors
from .adapting import Adapted
from .decoding import LargeBodyError
from .flows import ASKED, ROUTED, content_of, is_native, is_reverse
from .gate import is_asked, is_list, is_plain, not_found, refusal, refused
from .keys import Keys, Secret, hide, key_of, put, take_off
from .legible import brief
from .models import Models
from .native import translate
from .routes import Routes, Target

logger = logging.getLogger(__name__)

MAPPED = "model-mapped"
_OK = 200
_OPENED = "llm_normalize_opened"
"""Marks a client's connection whose TLS was opened for a route."""
_HERE = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Address:
    """Where a client has sent a request."""

    scheme: str
    host: str
    port: int
    path: str
    host_header: str | None
    target: Target


@dataclass
class Reach:
    """What is done to requests, and undone.

    Attributes:
        routes: Where requests go instead.
        models: Models by other names.
        keys: The keys for hosts.
        gate: The token that clients have to present, if one is wanted.
        origins: Origins whose pages may call a reverse proxy.
    """

    routes: Routes = field(default_factory=Routes)
    models: Models = field(default_factory=Models)
    keys: Keys = field(default_factory=Keys)
    gate: Secret | None = None
    origins: frozenset[str] = frozenset()
    _routed: dict[str, Address] = field(default_factory=dict)
    _keyed: dict[str, http.HTTPFlow] = field(default_factory=dict)
    _sent: dict[str, bytes] = field(default_factory=dict)  # keys, until the end
    _let_in: set[str] = field(default_factory=set)  # through the gate
    _lists: set[str] = field(default_factory=set)  # flows that ask for the models

    # -- before a request ------------------------------------------------------------

    def is_routed(self, host: str | None, port: int | None) -> bool:
        """Tell whether requests to *host* go somewhere else."""
        return self.routes.target(host, port) is not None

    def connect(self, flow: http.HTTPFlow) -> None:
        """Do not connect to a host that has a route: nothing is asked of it.

        mitmproxy connects early unless there is an answer to CONNECT
        (mitmproxy/proxy/layers/http/__init__.py, `handle_connect_regular`).
        """
        if flow.response is None and self.is_routed(
            flow.request.host, flow.request.port
        ):
            flow.response = http.Response.make(200)
            flow.response.headers.clear()

    def client_hello(self, data: tls.ClientHelloData) -> bool:
        """Tell whether a client wants TLS with a host that has a route."""
        server = data.context.server
        host, port, *_ = server.address or ("", None)
        if not (
            self.is_routed(data.client_hello.sni, port) or self.is_routed(host, port)
        ):
            return False
        setattr(data.context.client, _OPENED, True)
        if not server.connected:
            server.tls = False  # else mitmproxy would ask it first for its certificate
        return True

    # -- a request -------------------------------------------------------------------

    def answers(self, flow: http.HTTPFlow, *, is_selected: bool) -> bool:
        """Let a request in, and send it where it is to go; tell whether it is answered.

        Nobody comes through a gate that has a bug.
        """
        try:
            return self._answers(flow, is_selected=is_selected)
        except Exception:
            logger.exception("normalize: a request cannot be let in")
            flow.response = refusal(500, "The proxy failed at this request.", None)
            return True

    def _answers(self, flow: http.HTTPFlow, *, is_selected: bool) -> bool:
        request = flow.request
        for key in (ASKED, ROUTED):  # of a flow that is replayed
            flow.metadata.pop(key, None)
        target = self.routes.target(request.host, request.port) or self.routes.target(
            request.pretty_host, request.port
        )
        if target is None and getattr(flow.client_conn, _OPENED, False):
            # It was opened for a route: TLS is what its client wants all the same.
            request.scheme = "https"
        if not (is_selected or target is not None):
            return False
        secret = self.keys.secret(request.host, request.port)
        if (target or self.gate or secret) and not is_plain(request.path):
            flow.response = not_found(request)
            return True
        origin = self._origin(flow)
        if origin is not None and cors.is_preflight(request):
            flow.response = cors.preflight(request, origin)
            return True
        if self.gate is not None:
            told = refused(request, self.gate)
            if told is not None:
                flow.response = told
                return True
            self._let_in.add(flow.id)
        if target is not None and target.is_native and not is_asked(request):
            flow.response = self._unknown(request)
            return True
        if target is not None:
            self._route(flow, target)
        return False

    def _unknown(self, request: http.Request) -> http.Response:
        """Return what a native provider has for anything but a chat completion."""
        if not is_list(request):
            return not_found(request)
        listed = self.models.listed(b'{"object":"list","data":[]}')
        body = listed or b'{"object":"list","data":[]}'
        return http.Response.make(200, body, {"content-type": "application/json"})

    def _origin(self, flow: http.HTTPFlow) -> str | None:
        if not (self.origins and is_reverse(flow.client_conn.proxy_mode)):
            return None
        return cors.origin_of(flow.request, self.origins)

    def _route(self, flow: http.HTTPFlow, target: Target) -> None:
        request = flow.request
        self._routed[flow.id] = Address(
            request.scheme,
            request.host,
            request.port,
            request.path,
            request.host_header,
            target,
        )
        url = request.pretty_url.encode(errors="replace").decode()  # it is saved
        flow.metadata[ROUTED] = [url, str(target)]
        request.scheme = target.scheme
        request.host = target.host
        request.port = target.port
        request.path = target.path(request.path)
        request.host_header = target.netloc

    def send(self, flow: http.HTTPFlow, *, is_selected: bool) -> Adapted | None:
        """Name the model that is sent, and put the key on: the request leaves after this.

        Returns:
            What was changed in the request.
        """
        request = flow.request
        routed = self._routed.get(flow.id)
        if flow.response is not None or not (is_selected or routed):
            return None
        if self.models.names and is_list(request):
            self._lists.add(flow.id)
        adapted = None
        secret = self.keys.secret(request.host, request.port)
        try:
            content = content_of(request) if is_asked(request) else _plain(request)
        except ValueError as error:
            if routed or secret or self.gate:  # nobody knows what would go there
                status = 413 if isinstance(error, LargeBodyError) else 400
                message = f"The body of the request is not read: {error}."
                flow.response = refusal(status, message, None)
                return None
            content = b""
        renamed = content and self.models.rename(content)
        if renamed:
            adapted = Adapted(content, [(MAPPED, "changed", "model")])
            request.content, flow.metadata[ASKED] = renamed  # and its length
        if routed is not None and routed.target.is_native:
            try:
                adapted = translate(flow, routed.target.base, adapted)
            except ValueError as error:
                flow.response = refusal(400, str(error), None)
                return None
        if secret is not None and (self.gate is None or flow.id in self._let_in):
            self._put_key(flow, secret)
        return adapted

    def _put_key(self, flow: http.HTTPFlow, secret: Secret) -> None:
        """Put a key on, unless a page of the web would use it, or anybody could read it."""
        is_chosen = flow.id not in self._routed and not is_reverse(
            flow.client_conn.proxy_mode
        )
        if is_chosen and flow.request.scheme == "http" and not _is_here(flow.request):
            message = "The key of this proxy goes out by https alone."
            flow.response = refusal(403, message, None)
            return
        origin = flow.request.headers.get("origin", "")
        if origin and cors.origin_of(flow.request, self.origins) is None:
            message = (
                f"Pages of {brief(origin)} may not use the key of this proxy. "
                "normalize_cors names those that may."
            )
            flow.response = refusal(403, message, None)
            return
        try:
            put(flow, secret.read())
        except ValueError as error:
            host = brief(flow.request.host)
            logger.warning("normalize: normalize_keys: %s: %s", host, error)
            message = "The proxy has no key for this provider."
            flow.response = refusal(500, message, None)
        else:
            self._keyed[flow.id] = flow

    # -- its answer ------------------------------------------------------------------

    def answered(self, flow: http.HTTPFlow) -> None:
        """Take the key off, and let a page read the answer.

        The key stays until the end where another request may have to be made for it.
        """
        is_good = flow.response is not None and flow.response.status_code == _OK
        if is_good and not is_native(flow):
            self._take_off(flow)
        origin = self._origin(flow)
        if origin is not None and flow.response is not None:
            cors.grant(flow.response, origin)

    def end(self, flow: http.HTTPFlow) -> None:
        """Let a flow that is over show what the client has asked for."""
        self.answered(flow)  # an answer of our own had no headers before
        self._take_off(flow)
        key = self._sent.pop(flow.id, b"")
        if key and flow.response and key in (flow.response.raw_content or b""):
            hide(flow, key)
        self._let_in.discard(flow.id)
        wants_list = flow.id in self._lists
        self._lists.discard(flow.id)
        asked = self._routed.pop(flow.id, None)
        if asked is not None:
            request = flow.request
            if flow.error is not None and flow.response is None:
                logger.warning(
                    "normalize: %s has a route to %s, and no answer came from there: %s",
                    brief(asked.host),
                    brief(str(asked.target)),
                    brief(flow.error.msg),
                )
            request.scheme, request.host = asked.scheme, asked.host
            request.port, request.path = asked.port, asked.path
            request.host_header = asked.host_header
        if wants_list:
            self._list(flow)

    def _list(self, flow: http.HTTPFlow) -> None:
        """Add the names that may be asked for to a list of models."""
        response = flow.response
        if response is None or not response.raw_content:
            return
        try:
            listed = self.models.listed(content_of(response))
        except ValueError as error:
            host, why = brief(flow.request.host), brief(str(error))
            said = "normalize: the list of models of %s passes as it is (%s)"
            logger.warning(said, host, why)
            return
        if listed is not None:
            response.headers.pop("content-encoding", None)
            response.content = listed

    def done(self) -> None:
        """Take off all keys."""
        for flow in [*self._keyed.values()]:
            self._take_off(flow)

    def _take_off(self, flow: http.HTTPFlow) -> None:
        if self._keyed.pop(flow.id, None) is not None:
            self._sent[flow.id] = key_of(flow)
            take_off(flow)


def _plain(request: http.Request) -> bytes:
    """Return the body of *request* if it is not encoded."""
    is_encoded = bool(request.headers.get("content-encoding"))
    return b"" if is_encoded else request.raw_content or b""


def _is_here(request: http.Request) -> bool:
    return request.host in _HERE
