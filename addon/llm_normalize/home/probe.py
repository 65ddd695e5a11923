"""A host that is nowhere but in the proxy: who gets its answer goes through the proxy.

Asked by https, it also tells whether its client trusts mitmproxy's CA.
"""

import functools
import secrets

from mitmproxy import http, tls
from mitmproxy.proxy import mode_specs

from ..routing.hosts import HostPattern

HOST = "check.llm-normalize.invalid"
"""No resolver knows it (RFC 6761, section 6.4)."""

PATTERN = HostPattern.parse(HOST)

_SAYS = {
    "http": "Yes: this client goes through the proxy.",
    "https": "Yes: this client goes through the proxy, and trusts its CA.",
}
_PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="520" height="40" role="img">
<title>{0}</title>
<path d="M8 21l7 7 13-15" fill="none" stroke="#1a7f37" stroke-width="4"/>
<text x="40" y="26" font-family="sans-serif" font-size="16" fill="#777">{0}</text>
</svg>
"""


def serves(mode: mode_specs.ProxyMode) -> bool:
    """Tell whether clients know that there is a proxy, and ask it for hosts by name."""
    return _serves(type(mode))


@functools.cache
def _serves(kind: type[mode_specs.ProxyMode]) -> bool:
    """Tell it of all of a *kind*: they are abstract classes, which take long to ask."""
    return issubclass(kind, mode_specs.RegularMode | mode_specs.UpstreamMode)


class Probe:
    """The answer of that host.

    Attributes:
        token: What only pages of this proxy know, so that no other can tell whether its
            reader uses it.
    """

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)

    @property
    def place(self) -> str:
        """The address without its scheme and ending."""
        return f"{HOST}/{self.token}"

    def connect(self, flow: http.HTTPFlow) -> None:
        """Answer CONNECT, so that mitmproxy does not look for that host."""
        if flow.response is None and _asks(flow):
            flow.response = http.Response.make(200)
            flow.response.headers.clear()

    def client_hello(self, data: tls.ClientHelloData) -> bool:
        """Let mitmproxy answer TLS for that host without asking it; tell whether it is."""
        server = data.context.server
        host = (server.address or ("",))[0]
        named = data.client_hello.sni or host
        if not (
            serves(data.context.client.proxy_mode)
            and PATTERN.matches(host, port=None)
            and PATTERN.matches(named, port=None)
        ):
            return False
        server.tls = False  # else mitmproxy would ask it first for its certificate
        return True

    def answers(self, flow: http.HTTPFlow) -> bool:
        """Answer a request to that host; tell whether it is one.

        Without the token it breaks off, as it would without the proxy.
        """
        if not _asks(flow):
            return False
        request = flow.request
        if request.path.partition("?")[0] != f"/{self.token}.svg":
            flow.kill()
            return True
        if flow.client_conn.tls_established:
            request.scheme = "https"
        says = _SAYS[request.scheme]
        headers = {
            "content-type": "image/svg+xml",
            "cache-control": "no-store",
            "content-security-policy": "default-src 'none'",
            "x-content-type-options": "nosniff",
        }
        flow.response = http.Response.make(200, _PICTURE.format(says), headers)
        return True


def _asks(flow: http.HTTPFlow) -> bool:
    return (
        bool(flow.live)
        and serves(flow.client_conn.proxy_mode)
        and PATTERN.matches(flow.request.host, port=None)
    )
