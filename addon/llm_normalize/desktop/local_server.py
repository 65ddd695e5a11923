"""A server on this machine: whether it listens, what it answers, and whether it is ours.

Whatever proxy the variables name, it is asked itself.
"""

import contextlib
import http.client
import re
import socket
from typing import Any, NamedTuple

from ..text.network_address import LOCAL
from ..text.printable import brief
from ..wire.json_text import as_list, as_object, as_string, objects_in, value_in
from . import processes
from .processes import Listener

NAME = "llm_normalize"
PATIENCE = 3.0
"""Seconds for a connection on this machine, and for a read."""
MOST = 1 << 18
"""Bytes that are read of an answer."""
_PROBE = re.compile(r"[a-z0-9.-]+\.invalid/[A-Za-z0-9_-]+")


class Answer(NamedTuple):
    """What a GET got.

    Attributes:
        status: Its status.
        kind: Its content type, without parameters.
        body: The first `MOST` bytes.
    """

    status: int
    kind: str
    body: bytes

    def json(self) -> dict[str, Any]:
        """The object that it holds, an empty one if it holds none."""
        return as_object(value_in(self.body))


class Status(NamedTuple):
    """What llm_normalize reports of itself (GET /status.json).

    Attributes:
        version: Its version.
        pid: Its process; 0 where it names none.
        confdir: Where its CA lies.
        mode: `normalize_mode`.
        opens: Whose TLS is opened: `listed`, `all`, or `allowed` (by `allow_hosts`).
        hosts: What it opens.
        ca_sha256: Its CA's fingerprint, `AA:BB:…`.
        probe: `HOST/TOKEN` whose `.svg` it answers by itself; empty if it has none.
        answers: How many it has counted.
        repaired: How many of them it has repaired.
    """

    version: str
    pid: int
    confdir: str
    mode: str
    opens: str
    hosts: tuple[str, ...]
    ca_sha256: str
    probe: str
    answers: int = 0
    repaired: int = 0


def reachable(host: str) -> str:
    """The address at which a server that listens on *host* can be asked."""
    return {"": LOCAL, "0.0.0.0": LOCAL, "::": "::1"}.get(host, host)  # noqa: S104 - a name


def listens(host: str, port: int) -> bool:
    """Tell whether a server on *host* accepts a connection."""
    try:
        socket.create_connection((reachable(host), port), PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


def fetch(host: str, port: int, path: str) -> Answer | None:
    """The answer to a GET in origin form, None if there is none."""
    # http.client knows nothing of HTTPS_PROXY and the like, which is wanted here.
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    with contextlib.closing(connection):
        try:
            headers = {"Accept": "*/*", "Connection": "close"}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            kind = (answer.getheader("content-type") or "").partition(";")[0]
            return Answer(answer.status, kind.strip().lower(), answer.read(MOST))
        except (OSError, ValueError, http.client.HTTPException):
            return None


def status(host: str, port: int) -> Status | None:
    """Ask llm_normalize what it is; None if something else listens, or nothing."""
    answer = fetch(host, port, "/status.json")
    found = answer.json() if answer and answer.status == http.HTTPStatus.OK else {}
    if found.get("name") != NAME:
        return None
    pid, probe = found.get("pid"), _text(found, "probe")
    return Status(
        version=_text(found, "version"),
        pid=pid if isinstance(pid, int) else 0,
        confdir=_text(found, "confdir"),
        mode=_text(found, "mode"),
        opens=_text(found, "opens"),
        hosts=tuple(
            brief(each) for each in as_list(found.get("hosts")) if isinstance(each, str)
        ),
        ca_sha256=_text(found, "ca_sha256"),
        probe=probe if _PROBE.fullmatch(probe) else "",
        answers=_sum(found, "responses"),
        repaired=_sum(found, "repaired"),
    )


def on_port(port: int, host: str = LOCAL) -> tuple[Listener | None, Status | None]:
    """Who listens on *port*, and what llm_normalize reports there.

    A reverse proxy is not asked: it would ask its provider.
    """
    owner = processes.listener(port)
    return owner, None if processes.is_reverse(owner) else status(host, port)


def _text(found: dict[str, Any], name: str) -> str:
    return brief(as_string(found.get(name)))


def _sum(found: dict[str, Any], name: str) -> int:
    counts = (each.get(name) for each in objects_in(found.get("counters")))
    return sum(each for each in counts if isinstance(each, int))
