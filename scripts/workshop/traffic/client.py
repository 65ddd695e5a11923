"""The client in an event loop: HTTP/1 and HTTP/2, plain or in TLS, directly or by CONNECT.

An answer is read when its reader asks for more, so that a slow reader makes the
proxy wait. Where it breaks off, nothing is raised: `done` tells whether it is complete.
"""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Self

import h2.exceptions

from workshop.mitmdump import Place
from workshop.traffic.http1 import ResponseReader
from workshop.traffic.http2 import Reply, Requests

NAME = "localhost"
LITTLE = 4096
"""Bytes that the kernel takes for a client that hardly reads."""
GOODBYE = 1.0
"""Seconds that the end of a connection may take."""
_MOST = 64 * 1024


class Answer(ResponseReader):
    """An answer over HTTP/1.

    Args:
        reader: The connection.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__()
        self._reader = reader

    async def read(self, most: int = _MOST) -> bytes:
        """Return what comes next of the body; nothing at its end, or where it breaks off.

        Args:
            most: Bytes that are taken of the connection at once.

        Raises:
            FramingError: It is no HTTP.
        """
        with contextlib.suppress(OSError):  # reset
            while not self.done:
                data = await self._reader.read(most)
                if not data:
                    self.end()
                    break
                if body := self.feed(data):
                    return body
        return b""

    def leave(self) -> None:
        """Read no more of it; that its connection is of no use then, `keeps` tells."""


async def rest(answer: Answer | Reply) -> bytes:
    """Return all that is still to come of an answer."""
    found = []
    while data := await answer.read():
        found.append(data)
    return b"".join(found)


class _Reader(asyncio.StreamReader):
    at = 0
    taken = 0

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]
        self.at = time.monotonic_ns()
        self.taken += len(data)
        super().feed_data(data)


class Client:
    """A connection, as long as it is entered.

    Attributes:
        http2: The requests of an HTTP/2 connection, which are answered side by side.
    """

    def __init__(
        self, reader: _Reader, writer: asyncio.StreamWriter, name: str, window: int
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._name = name
        self.http2: Requests | None = None
        tls = writer.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() == "h2":
            self.http2 = Requests(self._write, window)
            self._task = asyncio.create_task(self._feed(self.http2))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection, by force where the peer does not say goodbye in TLS."""
        if self.http2:
            self._task.cancel()
        self._writer.close()
        try:
            async with asyncio.timeout(GOODBYE):
                await self._writer.wait_closed()
        except OSError:  # a timeout is one
            self._writer.transport.abort()

    @property
    def at(self) -> int:
        """When its last bytes arrived, in nanoseconds of the monotonic clock."""
        return self._reader.at

    @property
    def taken(self) -> int:
        """How many bytes arrived, without what TLS adds."""
        return self._reader.taken

    def ask(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        version: str = "HTTP/1.1",
    ) -> Answer | Reply:
        """Send a request, a GET if it has no body, and return its answer.

        Args:
            path: What is asked for.
            body: The body, JSON.
            headers: More header fields.
            version: That of HTTP/1.
        """
        method = "POST" if body else "GET"
        fields = dict(headers or {})
        if body:
            fields |= {"content-type": "application/json"}
            fields |= {"content-length": str(len(body))}
        if self.http2:
            head = {":method": method, ":scheme": "https", ":authority": self._name}
            return self.http2.ask({**head, ":path": path, **fields}.items(), body)
        lines = [f"{method} {path} {version}", f"host: {self._name}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self._write("\r\n".join([*lines, "", ""]).encode() + body)
        return Answer(self._reader)

    def _write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def _feed(self, http2: Requests) -> None:
        try:
            while data := await self._reader.read(_MOST):
                http2.feed(data)
        except (OSError, h2.exceptions.ProtocolError):
            pass
        finally:
            http2.end()


async def connect(
    place: Place,
    tunnel: str = "",
    context: ssl.SSLContext | None = None,
    *,
    name: str = NAME,
    window: int = 0,
    little: bool = False,
) -> Client:
    """Return a connection to a proxy or a provider.

    Args:
        place: Where it is.
        tunnel: `host:port` to CONNECT to; empty for none.
        context: TLS settings; None for none. ALPN says what is spoken.
        name: The name that is asked for.
        window: Bytes that HTTP/2 takes before they are read; 0 for its own default.
        little: Whether the kernel is not to read in the client's place.

    Raises:
        OSError: There is none.
    """
    loop = asyncio.get_running_loop()
    # By its protocol's number asyncio knows what sends small writes at once.
    raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        raw.setblocking(False)
        if little:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LITTLE)
        await loop.sock_connect(raw, place)
        if tunnel:
            await _open(raw, tunnel)
        reader = _Reader(LITTLE if little else _MOST, loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        host = name if context else None
        transport, _ = await loop.create_connection(
            lambda: protocol, sock=raw, ssl=context, server_hostname=host
        )
    except BaseException:
        raw.close()
        raise
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    return Client(reader, writer, name, window)


async def _open(raw: socket.socket, tunnel: str) -> None:
    loop = asyncio.get_running_loop()
    ask = f"CONNECT {tunnel} HTTP/1.1\r\nhost: {tunnel}\r\n\r\n"
    await loop.sock_sendall(raw, ask.encode())
    head = b""
    # One byte at a time: what follows belongs to TLS.
    while not head.endswith(b"\r\n\r\n") and (byte := await loop.sock_recv(raw, 1)):
        head += byte
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise ConnectionError(f"CONNECT was refused: {head!r}")
