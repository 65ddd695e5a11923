"""Which requests are to the proxy itself, and who may ask what of it."""

import ipaddress
from collections.abc import Mapping

from mitmproxy import connection, ctx, http

_FORWARDED = ("forwarded", "via", "x-forwarded-for")
_OF_THE_PAGE = ("", "none", "same-origin")
"""What `Sec-Fetch-Site` says of no browser, of the reader and of our own pages."""


def is_own_port(flow: http.HTTPFlow) -> bool:
    """Tell whether a request is for the port that its client is connected to."""
    return flow.client_conn.sockname[1] == flow.request.port


def names_proxy(flow: http.HTTPFlow) -> bool:
    """Tell whether the host of a request is the proxy's own address.

    By address or as localhost only: any other name may be made to lead here by a page
    whose server then is, to the browser, the same one as this (DNS rebinding).
    """
    host = flow.request.host.rstrip(".").lower()
    here = flow.client_conn.sockname[0]
    return host == "localhost" or is_loopback(host) or host == here


def is_loopback(host: str) -> bool:
    """Tell whether *host* is an address that only this machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_from_proxy(client: connection.Client) -> bool:
    """Tell whether it is the proxy itself that is connected as *client*."""
    ends = client.peername[:2], client.sockname[:2]
    handlers = ctx.master.addons.get("proxyserver").connections.values()
    return any(
        each.sockname is not None
        and each.peername is not None
        and (each.sockname[:2], each.peername[:2]) == ends
        for handler in handlers
        for each in handler.transports
        if isinstance(each, connection.Server)
    )


def is_local(flow: http.HTTPFlow) -> bool:
    """Tell whether a client is on this machine, and nobody asks through it."""
    is_direct = not any(name in flow.request.headers for name in _FORWARDED)
    return is_direct and is_loopback(flow.client_conn.peername[0])


def is_foreign(headers: Mapping[str, str], base: str) -> bool:
    """Tell whether a page of another origin asks; its reader may follow a link.

    https://www.w3.org/TR/fetch-metadata/

    Args:
        headers: The headers of the request.
        base: The own origin.
    """
    if headers.get("origin", base).lower() != base:
        return True
    follows = (
        headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    return headers.get("sec-fetch-site", "") not in _OF_THE_PAGE and not follows


def address(host: str, port: int) -> str:
    """Return the address of *host* and *port* as a URL has it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
