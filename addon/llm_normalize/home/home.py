"""Requests to the proxy itself, and what answers them: pages, PAC, CA, status.

A client that takes the proxy for a server asks it in origin form, `GET /` with the
proxy's own address as the Host. mitmproxy would take that for a request to connect to
itself and answer 502 (mitmproxy/addons/proxyserver.py, `server_connect`). Which Hosts are
its own: `own_host`.
"""

import logging
import os
import re
import secrets
import ssl
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from mitmproxy import ctx, http, tls
from mitmproxy.proxy import mode_specs

from .. import __version__
from ..mitm.proxy_server import ca_certificate, is_from_proxy
from ..records.statistics import Stats
from ..routing.gate import is_asked, is_list, refusal
from ..routing.hosts import Hosts
from ..routing.own_address import (
    LOOP,
    leads_to,
)
from ..routing.pace import Queues
from ..routing.routes import Routes
from ..text.authority import address
from . import client_pages, pac, rendering
from .own_host import is_foreign, is_local, is_own_port, names_proxy
from .probe import HOST, PATTERN, Probe, serves
from .rendering import Visit
from .status import REFUSED, Facts, fingerprint, grouped
from .untrusting_clients import Distrust

logger = logging.getLogger(__name__)

_TEXT = "text/plain; charset=utf-8"
_HTML = "text/html; charset=utf-8"
_CERTIFICATE = "application/x-x509-ca-cert"
_CA_PATH = "/mitmproxy-ca-cert"

type Answer = tuple[str, str | bytes]
"""A content type, and a body."""


class Home:
    """The proxy as a server: in regular and in upstream mode, for requests to itself.

    Args:
        stats: What was repaired.
        queues: Requests that wait until their host takes more.

    Attributes:
        hosts: The hosts that are opened.
        routes: Where requests to hosts go instead.
    """

    def __init__(self, stats: Stats, queues: Queues) -> None:
        self.hosts = Hosts([])
        self.routes = Routes()
        self._stats = stats
        self._queues = queues
        self._distrust = Distrust()
        self._probe = Probe()
        self._begun = time.monotonic()

    # -- hooks -----------------------------------------------------------------------

    def connect(self, flow: http.HTTPFlow) -> None:
        """Take a CONNECT to the probe's host, which is nowhere."""
        self._probe.connect(flow)

    def client_hello(self, data: tls.ClientHelloData) -> bool:
        """Tell whether a client wants TLS with the probe's host."""
        return self._probe.client_hello(data)

    def distrusted(self, data: tls.TlsData) -> None:
        """Count a client that does not trust the CA; the page shows its own."""
        if data.conn.sni != HOST:
            self._distrust.failed(data, _confdir())

    def answers(self, flow: http.HTTPFlow) -> bool:
        """Answer a request to the proxy itself; tell whether it was one."""
        is_new = flow.response is None and flow.live and not flow.is_replay
        if not (is_new and serves(flow.client_conn.proxy_mode)):
            return False
        if self._probe.answers(flow):
            return True
        if not is_own_port(flow):
            return False
        is_named = names_proxy(flow)
        here = flow.client_conn.sockname[0]
        is_loop = not is_named and leads_to(flow.request.host, here)
        if is_loop or is_from_proxy(flow.client_conn):
            # Some other name of this machine, or one that a page has let change: asked
            # repeatedly, it would lead here for ever.
            flow.response = _refused(403, f"{LOOP} Ask it by its address.")
            return True
        if not is_named:
            return False
        try:
            flow.response = self._answer(flow)
        except Exception:
            logger.exception("normalize: the home page cannot be shown")
            flow.response = _refused(500, "The proxy failed at this page.")
        return True

    # -- answers ---------------------------------------------------------------------

    def _answer(self, flow: http.HTTPFlow) -> http.Response:
        request = flow.request
        if is_asked(request) or is_list(request):
            return refusal(
                404,
                "This is a proxy, and no base URL. Set it as the client's proxy, or "
                "start mitmdump with --mode reverse:https://PROVIDER.",
                None,
            )
        visit = Visit(
            scheme=request.scheme,
            address=address(request.host.rstrip(".").lower(), request.port),
            is_through="proxy-connection" in request.headers or bool(request.authority),
            agent=request.headers.get("user-agent", ""),
            nonce=secrets.token_urlsafe(16),
            is_local=is_local(flow),
        )
        if is_foreign(request.headers, visit.base):
            return _refused(403, "Pages of other sites get nothing from this proxy.")
        if request.method not in ("GET", "HEAD"):
            response = _refused(405, "There is nothing to be changed here.")
            response.headers["allow"] = "GET, HEAD"
            return response
        path = request.path.partition("?")[0]
        answer = self._body(flow, path, visit)
        if answer is None:
            return _refused(404, "Page not found.")
        made = _response(200, *answer, nonce=visit.nonce)
        if path.startswith(_CA_PATH):
            made.headers["content-disposition"] = f'attachment; filename="{path[1:]}"'
        if request.method == "HEAD":
            size = made.headers["content-length"]
            made.content = b""
            made.headers["content-length"] = size
        return made

    def _body(self, flow: http.HTTPFlow, path: str, visit: Visit) -> Answer | None:
        is_html = "text/html" in flow.request.headers.get("accept", "")
        folder = str(_confdir()) if visit.is_local else client_pages.CONFDIR
        pages = client_pages.read(visit.address, folder)
        if path == "/":
            show = rendering.html if is_html else rendering.text
            return _HTML if is_html else _TEXT, show(visit, self._facts(), pages)
        if path == "/proxy.pac":
            return pac.TYPE, self._pac(flow.client_conn.proxy_mode, visit)
        if path == "/status.json" and visit.is_local:
            return "application/json", self._facts().json()
        if path.startswith(_CA_PATH) and (pem := ca_certificate()):
            forms: dict[str, Answer] = {
                ".pem": (_CERTIFICATE, pem),
                ".cer": (_CERTIFICATE, _der(pem)),
            }
            return forms.get(path.removeprefix(_CA_PATH))
        chosen = [each for each in pages if path == f"/clients/{each.slug}"]
        if not chosen:
            return None
        trust = visit.advice(str(_confdir())).markdown
        shown = replace(chosen[0], text=f"{chosen[0].text}\n\n{trust}")
        page = rendering.client(visit, shown, pages) if is_html else shown.text
        return _HTML if is_html else _TEXT, page

    def _pac(self, mode: mode_specs.ProxyMode, visit: Visit) -> str:
        routed = [each.host for each in self.routes.routes]
        patterns = [*self.hosts.patterns, *routed, PATTERN]
        if isinstance(mode, mode_specs.UpstreamMode):
            otherwise = pac.upstream(mode.scheme, *mode.address)
            return pac.script(patterns, visit.address, otherwise)
        return pac.script(patterns, visit.address)

    def _facts(self) -> Facts:
        others: Literal["listed", "all"] = (
            "listed" if ctx.options.normalize_only else "all"
        )
        rows, more = grouped(self._stats.rows())
        pem = ca_certificate()
        return Facts(
            version=__version__,
            pid=os.getpid(),
            confdir=str(_confdir()),
            mode=ctx.options.normalize_mode,
            seconds=time.monotonic() - self._begun,
            hosts=[str(each) for each in self.hosts.patterns],
            routes=[(each.asked, str(each.target)) for each in self.routes.routes],
            opens="allowed" if ctx.options.allow_hosts else others,
            ca_sha256=fingerprint(_der(pem)) if pem else "",
            probe=self._probe.place,
            closed_probe=_is_closed(f"{HOST}:443"),
            rows=rows,
            more=more,
            waiting=self._queues.waiting(),
            refused=dict(self._distrust.hosts.most_common(REFUSED)),
        )


def _confdir() -> Path:
    return Path(ctx.options.confdir).expanduser()


def _der(pem: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem)


def _is_closed(place: str) -> bool:
    """Tell whether the user's options leave the TLS of *place* closed.

    As mitmproxy/addons/next_layer.py has it.
    """

    def named(patterns: Iterable[str]) -> bool:
        return any(re.search(each, place, re.IGNORECASE) for each in patterns)

    options = ctx.options
    return (bool(options.allow_hosts) and not named(options.allow_hosts)) or named(
        options.ignore_hosts
    )


def _refused(status: int, sentence: str) -> http.Response:
    return _response(status, _TEXT, sentence + "\n")


def _response(
    status: int, kind: str, body: str | bytes, *, nonce: str = ""
) -> http.Response:
    """Return an answer that no page of another site can read, frame or include."""
    own = f"'nonce-{nonce}'" if nonce else "'none'"
    policy = (
        f"default-src 'none'; script-src {own}; style-src {own}; "
        f"img-src data: http://{HOST} https://{HOST}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {
        "content-type": kind,
        "cache-control": "no-store",
        "content-security-policy": policy,
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
    }
    return http.Response.make(status, body, headers)
