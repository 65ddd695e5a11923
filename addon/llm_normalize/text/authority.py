"""Hosts with their ports, as URLs have them."""

PORTS = {"http": 80, "https": 443}
"""The ports that a URL need not name."""


def bracketed(host: str) -> str:
    """Return *host* as a URL has it: an address of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def address(host: str, port: int | None) -> str:
    """Return *host* with its *port*, if there is one."""
    return bracketed(host) if port is None else f"{bracketed(host)}:{port}"


def netloc(scheme: str, host: str, port: int) -> str:
    """Return *host* with its *port* where that is not the own one of *scheme*."""
    return address(host, None if PORTS.get(scheme) == port else port)
