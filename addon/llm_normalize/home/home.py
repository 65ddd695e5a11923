"""Requests to the proxy itself, and what answers them: pages, PAC, CA, status, figures.

A client that takes the proxy for a server asks it in origin form, `GET /` with the
proxy's own address as the Host. mitmproxy would take that for a request to connect to
itself and answer 502 (mitmproxy/addons/proxyserver.py, `server_connect`). Which Hosts are
its own: `own_host`.

A reverse proxy's paths are its provider's, but for those below `PREFIX`; and a browser
that asks for a `/` that the provider does not have gets the page, too.
"""

import logging
import os
import re
import secrets
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from mitmproxy import ctx, exceptions, http, tls
from mitmproxy.proxy import mode_specs

from .. import __version__
from ..mitm.flow_list import leave_out, web_page
from ..mitm.proxy_server import ca_certificate, is_from_proxy
from ..mitm.reverse_proxy import asked_place
from ..records.statistics import Stats, is_error
from ..routing.gate import is_asked, is_let_in, is_list, refusal
from ..routing.hosts import Hosts
from ..routing.keys import Secret
from ..routing.own_address import LOOP, leads_to
from ..routing.pace import Queues
from ..routing.routes import Routes, is_reverse, shown
from ..text.network_address import PORTS, address
from . import PREFIX, ca_bundle, markdown_pages, metrics, pac, rendering
from .own_host import is_foreign, is_local, is_own_port, names_proxy
from .probe import HOST, PATTERN, Probe, serves
from .rendering import Fix, Visit
from .status import REFUSED, Facts, fingerprint, grouped
from .untrusting_clients import Distrust

logger = logging.getLogger(__name__)

_TEXT = "text/plain; charset=utf-8"
_HTML = "text/html; charset=utf-8"
_CERTIFICATE = "application/x-x509-ca-cert"
_BELOW = re.compile(rf"{PREFIX}(?:[/?]|\Z)".encode())
_PAGE = "llm_normalize_page"
"""Marks a flow that is about the proxy's own pages."""
_CA_PATH = "/mitmproxy-ca-cert"
_BUNDLE_PATH = f"/{ca_bundle.BUNDLE}"

type Answer = tuple[str, str | bytes]
"""A content type, and a body."""


class Home:
    """The proxy as a server, for requests to itself.

    Args:
        stats: What was repaired.
        queues: Requests that wait until their host takes more.
        fixes: All that can be repaired.

    Attributes:
        hosts: The hosts that are opened.
        routes: Where requests to hosts go instead.
        gate: Where the tokens are of which clients of a reverse proxy have to present one.
        repairs: Whether anything is changed, and not only observed.
        log: Returns where the before/after log is; None for none.
        probe: The host that is nowhere but here.
    """

    def __init__(self, stats: Stats, queues: Queues, fixes: Sequence[Fix]) -> None:
        self.hosts = Hosts()
        self.routes = Routes()
        self.gate: Secret | None = None
        self.repairs = True
        self.log: Callable[[], Path] | None = None
        self._stats = stats
        self._queues = queues
        self._fixes = fixes
        self._distrust = Distrust()
        self.probe = Probe()
        self._begun = time.monotonic()
        self._started = time.time()

    # -- hooks -----------------------------------------------------------------------

    def running(self) -> None:
        """Write the file of all roots, the proxy's CA with them, that clients are given."""
        path = ca_bundle.path_of(_confdir())
        try:
            if authority := ca_certificate(early=True).strip():
                ca_bundle.write(path, [*ca_bundle.roots(authority), authority])
        except (OSError, ValueError, exceptions.OptionsError) as error:
            logger.warning("normalize: %s cannot be written: %s", path, error)

    def distrusted(self, data: tls.TlsData) -> None:
        """Count a client that does not trust the CA; the page shows its own."""
        if data.conn.sni != HOST:
            self._distrust.failed(data, _confdir())

    def answers(self, flow: http.HTTPFlow) -> bool:
        """Answer a request to the proxy itself; tell whether it was one."""
        is_new = flow.response is None and flow.live and not flow.is_replay
        mode = flow.client_conn.proxy_mode
        if is_new and is_reverse(mode):
            is_below = _BELOW.match(flow.request.data.path) is not None
            return is_below and self._is_let_in(flow) and self._show(flow)
        if not (is_new and serves(mode)):
            return False
        if self.probe.answers(flow):
            flow.metadata[_PAGE] = True
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
            flow.metadata[_PAGE] = True
            return True
        return is_named and self._show(flow)

    def stands_in(self, flow: http.HTTPFlow) -> bool:
        """Tell whether a browser gets the page for the `/` that a provider does not have."""
        request, response = flow.request, flow.response
        return (
            request.data.path == b"/"
            and request.method in ("GET", "HEAD")
            and _wants_html(flow)
            and is_reverse(flow.client_conn.proxy_mode)
            and response is not None
            and is_error(response.status_code)
            and flow.live
            and not flow.is_replay
            and self.gate is None
            and self.repairs
            and self._is_let_in(flow)
        )

    def response(self, flow: http.HTTPFlow) -> None:
        """Show the page in the place of an answer, and leave pages out of mitmweb's list."""
        if self.stands_in(flow):
            self._show(flow)
        self.error(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """Leave a page that broke off out of mitmweb's list."""
        if flow.metadata.get(_PAGE):
            leave_out(flow)

    # -- answers ---------------------------------------------------------------------

    def _is_let_in(self, flow: http.HTTPFlow) -> bool:
        """Tell whether the client of a reverse proxy may see the pages."""
        if not (is_local(flow) and names_proxy(flow)):
            return False
        try:
            return self.gate is None or is_let_in(flow.request, self.gate.read_each())
        except ValueError:  # it is refused, and that is logged
            return False

    def _show(self, flow: http.HTTPFlow) -> bool:
        flow.metadata[_PAGE] = True
        try:
            flow.response = self._answer(flow)
        except Exception:
            logger.exception("normalize: the home page cannot be shown")
            flow.response = _refused(500, "The proxy failed at this page.")
        return True

    def _answer(self, flow: http.HTTPFlow) -> http.Response:
        request = flow.request
        visit = _visit(flow)
        if not visit.upstream and (is_asked(request) or is_list(request)):
            return refusal(
                404,
                "This is a proxy, and no base URL. Set it as the client's proxy, or "
                "start mitmdump with --mode reverse:https://PROVIDER.",
                None,
            )
        if is_foreign(request.headers, visit.base):
            return _refused(403, "Pages of other sites get nothing from this proxy.")
        if request.method not in ("GET", "HEAD"):
            response = _refused(405, "There is nothing to be changed here.")
            response.headers["allow"] = "GET, HEAD"
            return response
        path = request.path.partition("?")[0].removeprefix(PREFIX) or "/"
        answer = self._body(flow, path, visit)
        if answer is None and _wants_html(flow):
            page = rendering.message(visit, "Page not found")
            return _response(404, _HTML, page, nonce=visit.nonce)
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
        is_html = _wants_html(flow)
        page = self._page(path, visit, is_html=is_html)
        if page is not None:
            return _HTML if is_html else _TEXT, page
        if path == "/status.json" and visit.is_local:
            return "application/json", self._facts().json()
        if path == "/metrics" and visit.is_local:
            return metrics.TYPE, self._metrics()
        if path == "/proxy.pac" and not visit.upstream:
            return pac.TYPE, self._pac(flow.client_conn.proxy_mode, visit)
        is_file = path.startswith((_CA_PATH, _BUNDLE_PATH)) and not visit.upstream
        return _certificates(path) if is_file else None

    def _page(self, path: str, visit: Visit, *, is_html: bool) -> str | None:
        """Return what is HTML for browsers, and text for others."""
        if path == "/fixes":
            return rendering.fixes(visit, self._fixes, is_html=is_html)
        if path.startswith("/docs/"):
            slug = path.removeprefix("/docs/")
            return rendering.document(visit, slug, is_html=is_html)
        folder = str(_confdir()) if visit.is_local else markdown_pages.CONFDIR
        pages = [] if visit.upstream else markdown_pages.clients(visit.address, folder)
        if path == "/":
            show = rendering.html if is_html else rendering.text
            return show(visit, self._facts(), pages)
        chosen = [each for each in pages if path == f"/clients/{each.slug}"]
        if not chosen:
            return None
        trust = visit.advice(str(_confdir())).markdown
        client = replace(chosen[0], text=f"{chosen[0].text}\n\n{trust}")
        return rendering.client(visit, client, pages) if is_html else client.text

    def _metrics(self) -> str:
        refused, counted = self._distrust.hosts, self._stats.by_pair()
        return metrics.text(self._facts(), counted, refused, self._started)

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
        rows, more = grouped(self._stats.by_pair())
        pem = ca_certificate()
        return Facts(
            version=__version__,
            pid=os.getpid(),
            confdir=str(_confdir()),
            mode=ctx.options.normalize_mode,
            has_gate=self.gate is not None,
            seconds=time.monotonic() - self._begun,
            hosts=[str(each) for each in self.hosts.patterns],
            routes=[(each.asked, str(each.target)) for each in self.routes.routes],
            opens="allowed" if ctx.options.allow_hosts else others,
            ca_sha256=fingerprint(_der(pem)) if pem else "",
            probe=self.probe.place,
            closed_probe=_is_closed(f"{HOST}:443"),
            rows=rows,
            more=more,
            waiting=self._queues.waiting(),
            refused=dict(self._distrust.hosts.most_common(REFUSED)),
            log="" if self.log is None else str(self.log()),
            web=web_page(),
        )


def _visit(flow: http.HTTPFlow) -> Visit:
    """Return who looks at a page, and from where."""
    request, mode = flow.request, flow.client_conn.proxy_mode
    host, port, scheme = request.host, request.port, request.scheme
    upstream = ""
    if isinstance(mode, mode_specs.ReverseMode):
        url = mode.data if "://" in mode.data else f"https://{mode.data}"
        upstream = shown(url.rstrip("/"))
        scheme = "https" if flow.client_conn.tls_established else "http"
        host, named = asked_place(request)
        port = named or PORTS[scheme]
    return Visit(
        scheme=scheme,
        address=address(host.strip("[]").rstrip(".").lower(), port),
        is_through="proxy-connection" in request.headers or bool(request.authority),
        agent=request.headers.get("user-agent", ""),
        nonce=secrets.token_urlsafe(16),
        is_local=is_local(flow),
        upstream=upstream,
    )


def _wants_html(flow: http.HTTPFlow) -> bool:
    return "text/html" in flow.request.headers.get("accept", "")


def _confdir() -> Path:
    return Path(ctx.options.confdir).expanduser()


def _certificates(path: str) -> Answer | None:
    """Return the CA's certificate, in the form that *path* asks for, or all roots."""
    bundle = ca_bundle.path_of(_confdir())
    if path == _BUNDLE_PATH and bundle.exists():
        return _CERTIFICATE, bundle.read_bytes()
    pem = ca_certificate()
    if not pem:
        return None
    forms: dict[str, Answer] = {
        ".pem": (_CERTIFICATE, pem),
        ".cer": (_CERTIFICATE, _der(pem)),
    }
    return forms.get(path.removeprefix(_CA_PATH))


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
