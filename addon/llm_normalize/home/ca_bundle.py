"""The roots that this machine trusts, and with them the proxy's CA: a file for clients.

A client that is given the CA alone refuses every host whose TLS the proxy leaves closed.
"""

import contextlib
import os
import re
import ssl
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import certifi

FOLDER = "normalize"
BUNDLE = "ca-bundle.pem"
_SYSTEM = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Gentoo
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, Alpine, the BSDs
)
"""Where systems have all their roots: a Python may have been built for other paths."""
_CERTIFICATE = re.compile(
    "-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL
)


def path_of(confdir: Path) -> Path:
    """Return where the bundle is, in mitmproxy's folder *confdir*."""
    return confdir / FOLDER / BUNDLE


def write(path: Path, certificates: list[str]) -> None:
    """Put a bundle into the place of *path*, unless it is there already.

    Raises:
        OSError: It cannot be written.
    """
    text = "".join(f"{each}\n" for each in certificates)
    with contextlib.suppress(FileNotFoundError):
        if path.read_text("ascii", errors="replace") == text:
            return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="ascii")
    part.replace(path)


def roots(without: str = "") -> list[str]:
    """The roots that programs on this machine trust, as PEM.

    That is mitmproxy's own list, the system's store, and the file that `SSL_CERT_FILE`
    names, since a company's CA is mostly in one of these two.

    What OpenSSL cannot read is left out: one such certificate in a file, and a
    program that is given that file trusts nobody.

    Args:
        without: The proxy's CA: no server that the proxy itself asks has that.
    """
    found = _readable(_everything())
    if without:
        found.pop(ssl.PEM_cert_to_DER_cert(without.strip()), None)
    return [*found.values()]


def lacking(bundle: Path, path: Path) -> int:
    """Return how many certificates of the file *path* are not in *bundle*.

    Raises:
        OSError: One of them cannot be read.
    """
    return len(_readable(_in_file(path)).keys() - _readable(_in_file(bundle)).keys())


def _readable(certificates: Iterable[str]) -> dict[bytes, str]:
    """Return those that OpenSSL can read, each once, by what is in it."""
    found = dict[bytes, str]()
    reader = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for each in certificates:
        with contextlib.suppress(ValueError, ssl.SSLError):
            der = ssl.PEM_cert_to_DER_cert(each)
            if der not in found:
                reader.load_verify_locations(cadata=der)
                found[der] = each
    return found


def _in_file(path: Path) -> list[str]:
    return _CERTIFICATE.findall(path.read_text("ascii", errors="ignore"))


def _everything() -> Iterator[str]:
    for path in (certifi.where(), *_SYSTEM, os.environ.get("SSL_CERT_FILE", "")):
        with contextlib.suppress(OSError):
            yield from _in_file(Path(path))
    if sys.platform == "win32":
        for name in ("ROOT", "CA"):
            for der, _, _ in ssl.enum_certificates(name):
                yield ssl.DER_cert_to_PEM_cert(der).strip()
