"""The check's own connections: to the proxy, and through it. No variable leads them."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

from .finding import spelled

PATIENCE = 3.0
"""Seconds for a connection on this machine, and for a read."""
MOST = 1 << 18
"""Bytes that are read of an answer."""


class Answer(NamedTuple):
    """What came for a GET.

    Attributes:
        status: Its status.
        kind: Its content type, without parameters.
        body: The first `MOST` bytes.
    """

    status: int
    kind: str
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the object that it holds, an empty one if it holds none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def listens(host: str, port: int) -> bool:
    """Tell whether a connection is accepted there."""
    try:
        socket.create_connection((host, port), PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


def fetch(host: str, port: int, path: str) -> Answer | None:
    """Return the answer to a GET in origin form, None if there is none."""
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


@contextlib.contextmanager
def tunnel(
    proxy: tuple[str, int], host: str, port: int, patience: float = PATIENCE
) -> Iterator[socket.socket]:
    """Open a tunnel by CONNECT to *host*, for TLS.

    Raises:
        OSError: The proxy does not listen, or refuses; the message says which.
    """
    with socket.create_connection(proxy, patience) as connection:
        target = f"{spelled(host)}:{port}"
        head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
        connection.sendall(head.encode("ascii"))
        got = b""
        # Byte by byte: what follows the blank line is the other side's TLS.
        while not got.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            if not byte or len(got) > MOST:
                raise OSError("the proxy closed the connection at CONNECT")
            got += byte
        line = got.split(b"\r\n", 1)[0].decode("latin-1")
        if line.split(" ")[1:2] != ["200"]:
            raise OSError(f"the proxy answered CONNECT with {line!r}")
        yield connection
