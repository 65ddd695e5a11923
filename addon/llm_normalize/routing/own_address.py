"""Which hosts are this machine, which connections lead back to the proxy, which Host was named."""

import socket
from collections.abc import Callable, Mapping
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.net.http import url
from mitmproxy.proxy import server_hooks
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.proxy.mode_servers import ServerInstance

from ..text.loopback import ip_of, is_loopback, name_of
from ..wire.header import host_in
from .extended_methods import extend, restore

_OF_THE_PAGE = ("", "none", "same-origin")
"""What `Sec-Fetch-Site` says of no browser, of the reader and of our own pages."""
LOOP = "This name leads to the proxy itself."
"""The error of a connection that is not made."""
_HOST = "llm_normalize_host"
"""Where a request holds the `Host` that its client sent."""
_WAIT = "state_wait_for_request_headers"
type _Wait = Callable[[HttpStream, RequestHeaders], CommandGenerator[None]]
_ADDRESSES = "llm_normalize_addresses"
"""Where a server has where it listens, once it does: to ask takes as long as to connect."""


# -- hosts -------------------------------------------------------------------------


def is_address(host: str) -> bool:
    """Tell whether *host* is an IP address: no resolver is asked for it."""
    return ip_of(name_of(host)) is not None


def is_here(host: str) -> bool:
    """Tell whether a connection to *host* ends on this machine, however it is spelled.

    Nobody is asked: another name, that only a resolver leads here, is not known.
    """
    name = name_of(host)
    own = socket.gethostname().lower()
    if is_loopback(name) or (name and name in (own, f"{own}.local")):
        return True
    ip = ip_of(name)
    if ip is None or ip.is_multicast:
        return False
    return ip.is_unspecified or _is_own(str(ip))


def _is_own(address: str) -> bool:
    """Tell whether an interface has *address*: only then can a socket be bound to it."""
    try:
        ((family, kind, _, _, place),) = socket.getaddrinfo(
            address, 0, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        )
        with socket.socket(family, kind) as bound:
            bound.bind(place)
    except (OSError, ValueError):
        return False
    return True


# -- connections to the proxy ------------------------------------------------------


def leads_to(host: str, listens: str) -> bool:
    """Tell whether *host* is this machine, and where something listens at *listens*.

    Another server may have the same port of another address. Which one a name of this
    machine has is for a resolver to say: it may be any.
    """
    ip, end = ip_of(name_of(host)), ip_of(name_of(listens))
    any_of_both = ip is None or ip.is_unspecified or end is None or end.is_unspecified
    return is_here(host) and (any_of_both or ip == end)


def leads_back(data: server_hooks.ServerConnectionHookData) -> bool:
    """Tell whether a connection that is about to be made ends at the proxy itself.

    mitmproxy looks for that, too, but by four names (addons/proxyserver.py,
    `server_connect`).
    """
    if data.server.transport_protocol != "tcp":
        return False
    host, port, *_ = data.server.address or ("", 0)
    for server in ctx.master.addons.get("proxyserver").servers:
        for listens, own, *_ in _addresses(server):
            if own == port and leads_to(host, listens):
                return True
    return False


def _addresses(server: ServerInstance[Any]) -> tuple[Any, ...]:
    found: tuple[Any, ...] = getattr(server, _ADDRESSES, ())
    if not found and server.is_running:
        found = server.listen_addrs
        setattr(server, _ADDRESSES, found)
    return found


def is_cross_site(headers: Mapping[str, str]) -> bool:
    """Tell whether a browser says that a page of another site asks."""
    return headers.get("sec-fetch-site", "") not in _OF_THE_PAGE


def remember_hosts() -> None:
    """Let each request hold the `Host` that its client sent, for `asked_host`.

    A reverse proxy's requests have it no more when the first hook runs: mitmproxy puts
    the upstream's there (proxy/layers/http/__init__.py, `state_wait_for_request_headers`).
    """

    def extended(wait: _Wait) -> _Wait:
        def remember(
            stream: HttpStream, event: RequestHeaders
        ) -> CommandGenerator[None]:
            setattr(event.request, _HOST, _host(event.request))
            return wait(stream, event)

        return remember

    extend(HttpStream, _WAIT, extended)


def forget_hosts() -> None:
    """Let mitmproxy's streams be as they were."""
    restore(HttpStream, _WAIT)


def asked_host(request: http.Request) -> str:
    """Return the host that the client of *request* named in its `Host`; maybe none."""
    given = getattr(request, _HOST, None)
    named = _host(request) if given is None else given
    return url.parse_authority(named, check=False)[0]


def _host(request: http.Request) -> str:
    data = request.data
    return host_in(data.http_version, data.authority, data.headers.fields)
