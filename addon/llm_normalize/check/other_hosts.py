"""A host that is not listed: its TLS has to stay closed, its certificate its own."""

import contextlib
import http.client
import ssl
from collections.abc import Sequence
from pathlib import Path

from ..demo import provider as demo_provider
from ..demo.provider import HOST
from ..desktop.local_server import PATIENCE
from ..routing.hosts import Hosts
from ..text.printable import brief
from .finding import Finding, Mark, Way

STEP = "other hosts"
NAMES = (HOST, "localhost")


def judge(way: Way, folder: Path, opens: str) -> Finding:
    """Return the step's line, after a handshake through the proxy with a server of ours.

    Args:
        way: The proxy, and the hosts that it opens.
        folder: Where the server's certificate is written.
        opens: Whose TLS the proxy says it opens.
    """
    with demo_provider.running(folder) as server:
        host = _unlisted(way.hosts, server.port)
        if host is None:
            saw = (
                "normalize_hosts has this machine's own names: no other host is at hand"
            )
            return Finding(Mark.SKIP, STEP, saw)
        own = _certificate(Way(HOST, server.port), None)
        try:
            got = _certificate(way, (host, server.port))
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


def _certificate(place: Way, target: tuple[str, int] | None) -> bytes:
    """The certificate that a client of *place* gets, or of *target* through it.

    Raises:
        OSError: It gets none.
        HTTPException: What answers is no proxy.
    """
    context = ssl.create_default_context()
    # What is compared is the very bytes: who signed them is not asked.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(
        place.host, place.port, context=context, timeout=PATIENCE
    )
    if target is not None:
        connection.set_tunnel(*target)
    with contextlib.closing(connection):
        connection.connect()
        assert isinstance(connection.sock, ssl.SSLSocket)
        return connection.sock.getpeercert(binary_form=True) or b""
