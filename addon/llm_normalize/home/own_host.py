"""Under which Host the home page answers, and whom: this machine, no page of another site."""

import ipaddress
import re
from collections.abc import Mapping

from mitmproxy import http

from ..mitm.reverse_proxy import asked_host
from ..routing.own_address import is_cross_site
from ..routing.routes import is_reverse
from ..text.network_address import is_loopback

_FORWARDED = re.compile(
    r"forwarded|via|x-forwarded-.+|x-real-ip|.+-client-ip|.+-connecting-ip"
)


def is_own_port(flow: http.HTTPFlow) -> bool:
    """Tell whether a request is for the port that its client is connected to."""
    return flow.client_conn.sockname[1] == flow.request.port


def names_proxy(flow: http.HTTPFlow) -> bool:
    """Tell whether the host that a client asks for is the proxy's own address.

    By address or as localhost only: any other name may be made to lead here by a page
    whose server then is, to the browser, the same one as this (DNS rebinding).
    """
    request = flow.request
    is_sent_on = is_reverse(flow.client_conn.proxy_mode)  # it has the upstream's host
    asked = asked_host(request) if is_sent_on else request.host
    host = asked.rstrip(".").lower()
    here = flow.client_conn.sockname[0]
    return host in ("localhost", here) or _is_plain_loopback(host)


def _is_plain_loopback(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback and getattr(found, "ipv4_mapped", None) is None


def is_local(flow: http.HTTPFlow) -> bool:
    """Tell whether a client is on this machine, and not a proxy for others."""
    names = (name.lower() for name in flow.request.headers)
    is_direct = not any(map(_FORWARDED.fullmatch, names))
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
    return is_cross_site(headers) and not follows
