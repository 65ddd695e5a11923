"""Throw-away certificates for servers on this machine, and TLS settings with them."""

import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from mitmproxy import certs

from ..text.network_address import LOCAL

_BITS = 2048


def make_ca(folder: Path, name: str) -> Path:
    """Make a throw-away CA in *folder*, and return its certificate (PEM)."""
    certs.CertStore.create_store(folder, name, _BITS)
    return folder / f"{name}-ca-cert.pem"


def server_context(folder: Path, name: str, host: str = "") -> ssl.SSLContext:
    """Return TLS settings of a server with a certificate of the CA *name* in *folder*.

    It is for this machine's names, or for *host* alone.
    """
    store = certs.CertStore.from_store(folder, name, _BITS)
    here = [x509.DNSName("localhost"), x509.IPAddress(ip_address(LOCAL))]
    names = [x509.DNSName(host)] if host else here
    entry = store.get_cert(host or "localhost", names)
    key = entry.privatekey.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = folder / f"{name}-{host or 'leaf'}.pem"
    path.write_bytes(key + entry.cert.to_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
