"""Throw-away certificates for providers on loopback, and TLS settings that trust them."""

import ssl
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from mitmproxy import certs

from workshop import LOOPBACK


def make_ca(folder: Path, name: str) -> Path:
    """Make a throw-away CA in *folder*, and return its certificate (PEM)."""
    certs.CertStore.create_store(folder, name, 2048)
    return folder / f"{name}-ca-cert.pem"


def server_context(
    folder: Path, name: str, alpn: Sequence[str], host: str = ""
) -> ssl.SSLContext:
    """Return TLS settings, signed by the CA *name* of *folder*.

    For loopback names, or for *host* alone.
    """
    store = certs.CertStore.from_store(folder, name, 2048)
    here = [x509.DNSName("localhost"), x509.IPAddress(ip_address(LOOPBACK))]
    names = [x509.DNSName(host)] if host else here
    entry = store.get_cert(host or "localhost", names)
    pem = folder / f"{name}-{host or 'leaf'}.pem"
    key = entry.privatekey.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem.write_bytes(key + entry.cert.to_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.set_alpn_protocols(list(alpn))
    return context


def client_context(ca: Path | None, alpn: Sequence[str]) -> ssl.SSLContext:
    """Return TLS settings of a client that trusts *ca* alone; nobody without one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is not None:
        context.load_verify_locations(ca)
    context.set_alpn_protocols(list(alpn))
    return context
