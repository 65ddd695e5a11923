"""TLS settings for providers on loopback, and for clients that trust them."""

import ssl
from collections.abc import Sequence
from pathlib import Path

from llm_normalize.demo import provider
from llm_normalize.demo.provider import make_ca

__all__ = ["client_context", "make_ca", "server_context"]


def server_context(
    folder: Path, name: str, alpn: Sequence[str], host: str = ""
) -> ssl.SSLContext:
    """Return TLS settings, signed by the CA *name* of *folder*.

    For loopback names, or for *host* alone.
    """
    context = provider.server_context(folder, name, host)
    context.set_alpn_protocols(list(alpn))
    return context


def client_context(ca: Path | None, alpn: Sequence[str]) -> ssl.SSLContext:
    """Return TLS settings of a client that trusts *ca* alone; nobody without one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is not None:
        context.load_verify_locations(ca)
    context.set_alpn_protocols(list(alpn))
    return context
