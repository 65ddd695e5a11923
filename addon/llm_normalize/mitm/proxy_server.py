"""mitmproxy's server: where it listens, who is connected to it, and by which handler."""

from collections.abc import Iterator
from typing import Any

from mitmproxy import connection, ctx
from mitmproxy.proxy import server

from ..text.network_address import ip_of

_ADDRESSES = "llm_normalize_addresses"
"""Where a server has where it listens, once it does: to ask takes as long as to connect."""


def listening() -> Iterator[tuple[Any, ...]]:
    """Yield each address that mitmproxy listens at: a host, a port, and maybe more."""
    for instance in ctx.master.addons.get("proxyserver").servers:
        found: tuple[Any, ...] = getattr(instance, _ADDRESSES, ())
        if not found and instance.is_running:
            found = instance.listen_addrs
            setattr(instance, _ADDRESSES, found)
        yield from found


def is_running() -> bool:
    """Tell whether mitmproxy listens already: an addon is loaded into it, or anew."""
    proxyserver = ctx.master.addons.get("proxyserver")
    return proxyserver is not None and bool(proxyserver.is_running)


def first_port() -> int | None:
    """Return the port that mitmproxy listens at first; None before it does."""
    proxyserver = ctx.master.addons.get("proxyserver")
    addresses = proxyserver.listen_addrs() if proxyserver else []
    return addresses[0][1] if addresses else None


def ca_certificate(*, early: bool = False) -> str:
    """Return the certificate of mitmproxy's CA, without its key; empty before it runs.

    Args:
        early: Whether mitmproxy is to read or make it now: it does so only after the
            `running` of scripts (mitmproxy/addons/tlsconfig.py).
    """
    config = ctx.master.addons.get("tlsconfig")
    if config is not None and config.certstore is None and early:
        config.configure({"confdir"})
    store = config and config.certstore
    return store.default_ca.to_pem().decode() if store else ""


def handler_of(client: connection.Client) -> server.ConnectionHandler | None:
    """Return mitmproxy's handler of *client*, if it is connected."""
    master = getattr(ctx, "master", None)  # there is none in the doctor
    proxyserver = master and master.addons.get("proxyserver")
    found: server.ConnectionHandler | None = None
    if proxyserver is not None:
        found = proxyserver.connections.get(client.id)
    return found


def is_from_proxy(client: connection.Client) -> bool:
    """Tell whether it is the proxy itself that is connected as *client*."""
    ends = _end(client.peername), _end(client.sockname)
    handlers = ctx.master.addons.get("proxyserver").connections.values()
    return any(
        each.sockname is not None
        and each.peername is not None
        and (_end(each.sockname), _end(each.peername)) == ends
        for handler in handlers
        for each in handler.transports
        if isinstance(each, connection.Server)
    )


def _end(place: tuple[Any, ...]) -> tuple[str, int]:
    """Return an end of a connection as both its sides name it."""
    return str(ip_of(place[0]) or place[0]), place[1]
