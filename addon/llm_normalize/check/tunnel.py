"""A tunnel through the proxy, by CONNECT."""

import contextlib
import socket
from collections.abc import Iterator

from ..desktop.local_server import MOST, PATIENCE
from ..text.authority import address


class UnreachableError(OSError):
    """The proxy cannot connect to the host."""


@contextlib.contextmanager
def tunnel(proxy: tuple[str, int], host: str, port: int) -> Iterator[socket.socket]:
    """Open a tunnel by CONNECT to *host*, for TLS.

    Raises:
        OSError: The proxy does not listen, or refuses; the message says which.
    """
    with socket.create_connection(proxy, PATIENCE) as connection:
        target = address(host, port)
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
        status = line.split(" ")[1:2]
        if status == ["502"]:
            raise UnreachableError(f"the proxy cannot connect to {target}")
        if status != ["200"]:
            raise OSError(f"the proxy answered CONNECT with {line!r}")
        yield connection
