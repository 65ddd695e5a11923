"""A host that is not listed: its TLS has to stay closed, its certificate its own."""

import contextlib
import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..demo.certificates import make_ca, server_certificate
from ..desktop.local_server import PATIENCE
from ..routing.hosts import Hosts
from ..text.loopback import LOCAL
from ..text.printable import brief
from .finding import Finding, Mark, Way

STEP = "other hosts"
NAME = "other-host"
NAMES = (LOCAL, "localhost")


def judge(way: Way, folder: Path, opens: str) -> Finding:
    """Return the step's line, after a handshake through the proxy with a server of ours.

    Args:
        way: The proxy, and the hosts that it opens.
        folder: Where the server's certificate is written.
        opens: Whose TLS the proxy says it opens.
    """
    with _serving(folder) as (port, own):
        host = _unlisted(way.hosts, port)
        if host is None:
            saw = (
                "normalize_hosts has this machine's own names: no other host is at hand"
            )
            return Finding(Mark.SKIP, STEP, saw)
        try:
            got = _certificate(way, host, port)
        except (OSError, http.client.HTTPException) as error:
            reason = brief(str(error) or repr(error))
            saw = f"a host that is not listed cannot be reached: {reason}"
            return _opened(saw, opens)
    if got == own:
        saw = "a host that is not listed shows its own certificate, byte for byte"
        return Finding(Mark.OK, STEP, saw)
    saw = "a host that is not listed shows another certificate than its own"
    return _opened(saw, opens)


def _opened(saw: str, opens: str) -> Finding:
    """The finding: only a warning for the user's own options."""
    if opens == "all":
        saw = "normalize_only is off: the TLS of every host is opened"
        repair = "start the proxy with --set normalize_only=true"
        return Finding(Mark.WARN, STEP, saw, repair)
    if opens == "allowed":
        saw = "allow_hosts decides whose TLS is opened, not normalize_hosts"
        repair = "start the proxy without allow_hosts"
        return Finding(Mark.WARN, STEP, saw, repair)
    repair = "start the proxy without other scripts (-s) that open connections"
    return Finding(Mark.FAIL, STEP, saw, repair)


def _unlisted(hosts: Sequence[str], port: int) -> str | None:
    return next((each for each in NAMES if not is_listed(hosts, each, port)), None)


def is_listed(hosts: Sequence[str], host: str, port: int) -> bool:
    """Tell whether a proxy with these `normalize_hosts` opens *host*."""
    try:
        return Hosts.parse(hosts).include(host, port)
    except ValueError:
        return False


def _certificate(way: Way, host: str, port: int) -> bytes:
    """Return the SHA-256 of the certificate that a client gets.

    Raises:
        OSError: It gets none.
        HTTPException: What answers is no proxy.
    """
    context = ssl.create_default_context()
    # What is compared is the very bytes: who signed them is not asked.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(
        way.host, way.port, context=context, timeout=PATIENCE
    )
    connection.set_tunnel(host, port)
    with contextlib.closing(connection):
        connection.connect()
        assert isinstance(connection.sock, ssl.SSLSocket)
        own = connection.sock.getpeercert(binary_form=True) or b""
    return hashlib.sha256(own).digest()


@contextlib.contextmanager
def _serving(folder: Path) -> Iterator[tuple[int, bytes]]:
    """Run a server for TLS; yield its port, and its certificate's SHA-256."""
    make_ca(folder, NAME)
    chain = server_certificate(folder, NAME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    pem = chain.read_text(encoding="ascii")
    der = ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERT") :])
    with socket.create_server((LOCAL, 0)) as server:
        thread = threading.Thread(target=_answer, args=(server, context), daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], hashlib.sha256(der).digest()
        finally:
            # A thread in accept() is woken by a connection, not by a close.
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)


def _answer(server: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            plain, _ = server.accept()
        except OSError:
            return
        with plain, contextlib.suppress(OSError):
            plain.settimeout(PATIENCE)
            with context.wrap_socket(plain, server_side=True) as secure:
                secure.recv(1)
