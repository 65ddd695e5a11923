"""Which hosts are this machine, which connections lead back to the proxy."""

import socket
from collections.abc import Mapping

from mitmproxy.proxy import server_hooks

from ..mitm.proxy_server import listening
from ..text.network_address import ip_of, is_loopback, name_of

_OF_THE_PAGE = ("", "none", "same-origin")
"""What `Sec-Fetch-Site` says of no browser, of the reader and of our own pages."""
LOOP = "This name is the proxy's own."
"""The error of a connection that is not made."""


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
    found = listening()
    return any(own == port and leads_to(host, listens) for listens, own, *_ in found)


def is_cross_site(headers: Mapping[str, str]) -> bool:
    """Tell whether a browser says that a page of another site asks."""
    return headers.get("sec-fetch-site", "") not in _OF_THE_PAGE
