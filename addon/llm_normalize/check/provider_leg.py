"""The last leg: the provider, asked through the proxy that runs, without a key.

It is asked only if the command line names it: nothing else in the check leaves this machine.
"""

import contextlib
import http.client
import json
import ssl
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from ..routing.hosts import adding
from ..text.network_address import PORTS, address
from ..text.printable import brief
from .finding import Finding, Mark, Way
from .other_hosts import is_listed

STEP = "provider"
_NOT_REACHED = "Tunnel connection failed: 502"
"""What http.client says where the proxy answers CONNECT so."""
MOST = 600
"""Characters of what the proxy says is wrong."""
PATIENCE = 30.0
"""Seconds for the provider: a model server may be busy."""


def judge(way: Way | None, base: str, ca: Path) -> Finding:
    """Return the step's line.

    Args:
        way: The proxy that runs; None without one.
        base: The provider's base URL.
        ca: The certificate of the proxy's CA.
    """
    parts = urlsplit(base)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    place = address(host, port)
    if way is None:
        return Finding(Mark.SKIP, STEP, f"no proxy runs by which {place} can be asked")
    if not is_listed(way.hosts, host, port):
        saw = f"the proxy does not open {place}: its answers pass unrepaired"
        named = host if port == PORTS["https"] else place
        repair = f"start the proxy with {adding(named, way.hosts)}"
        return Finding(Mark.FAIL, STEP, saw, repair)
    try:
        status, text = _ask(way, parts, (host, port), ca)
    except (OSError, http.client.HTTPException) as error:
        saw = f"{place} cannot be asked: {brief(str(error) or repr(error))}"
        repair = "what failed above"
        if str(error).startswith(_NOT_REACHED):
            saw = f"the proxy cannot connect to {place}"
            repair = (
                "the proxy's log says why; where the network has a proxy of its own, "
                "start this one with --upstream-proxy http://HOST:PORT"
            )
        return Finding(Mark.FAIL, STEP, saw, repair)
    message = _message(text)
    if status == http.HTTPStatus.BAD_GATEWAY and message.startswith("No answer from "):
        saw, _, repair = brief(message, MOST).rstrip(".").partition(". ")
        return Finding(Mark.FAIL, STEP, saw, repair)
    saw = f"{place} answers through it, with status {status} to a request without a key"
    return Finding(Mark.OK, STEP, saw)


def _ask(
    way: Way, parts: SplitResult, place: tuple[str, int], ca: Path
) -> tuple[int, str]:
    path = f"{parts.path.rstrip('/')}/chat/completions"
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=ca)
        connection = http.client.HTTPSConnection(
            way.host, way.port, context=context, timeout=PATIENCE
        )
        connection.set_tunnel(*place)
    else:
        connection = http.client.HTTPConnection(way.host, way.port, timeout=PATIENCE)
        path = f"{parts.scheme}://{parts.netloc}{path}"
    headers = {"Host": parts.netloc, "Content-Type": "application/json"}
    with contextlib.closing(connection):
        connection.request("POST", path, "{}", headers)
        answer = connection.getresponse()
        return answer.status, answer.read(1 << 16).decode(errors="replace")


def _message(text: str) -> str:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return str(json.loads(text)["error"]["message"])
    return ""
