"""Clients that block, for tests: each request and each part of an answer when they say.

Whatever waits gives up after `PATIENCE`, so that a defect fails a test and does not hang
it.
"""

import abc
import json
import socket
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from workshop import LOOPBACK
from workshop.certificates import client_context
from workshop.traffic.http1 import ResponseReader
from workshop.traffic.http2 import Requests

PATIENCE = 20.0
"""Seconds after which whatever waits gives up."""
_HEAD = 4 * 1024 * 1024

type Json = Any
type Headers = Mapping[str, str] | None


class BrokenEndError(Exception):
    """An answer broke off: its framing says that more should have come."""


def connect(
    port: int,
    *,
    tunnel: str | None = None,
    ca: Path | None = None,
    alpn: Sequence[str] = ("http/1.1",),
    over_tls: str | None = None,
    sni: str | None = None,
) -> socket.socket:
    """Return a connection to the proxy on *port*, or through it.

    Args:
        port: The proxy's port.
        tunnel: `host:port` to CONNECT to, and to begin TLS with.
        ca: The CA that is trusted.
        alpn: Protocols to offer.
        over_tls: Speak TLS with the proxy itself, under this name; without a tunnel.
        sni: The name to ask for in TLS, if not the host of the tunnel.
    """
    raw: socket.socket = socket.create_connection((LOOPBACK, port), PATIENCE)
    raw.settimeout(PATIENCE)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        if over_tls:
            context = client_context(ca, ["http/1.1"])
            raw = context.wrap_socket(raw, server_hostname=over_tls)
        if tunnel is None:
            return raw
        raw.sendall(f"CONNECT {tunnel} HTTP/1.1\r\nhost: {tunnel}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            # One byte at a time: what follows belongs to TLS.
            byte = raw.recv(1)
            assert byte, f"CONNECT was refused: {head!r}"
            head += byte
        assert b" 200 " in head.split(b"\r\n")[0], head
        host = sni or tunnel.rpartition(":")[0]
        return client_context(ca, alpn).wrap_socket(raw, server_hostname=host)
    except BaseException:
        raw.close()
        raise


class Reply(abc.ABC):
    """An answer as it arrives."""

    def __init__(self) -> None:
        self.body = b""

    @property
    @abc.abstractmethod
    def status(self) -> int:
        """The status code."""

    @property
    @abc.abstractmethod
    def headers(self) -> dict[str, str]:
        """The header fields, with names in lower case."""

    @abc.abstractmethod
    def next_part(self) -> bytes:
        """Return the next HTTP chunk, DATA frame or read; `b""` at a clean end."""

    def until(self, mark: bytes) -> bytes:
        """Return the body up to the part that completes *mark*."""
        while mark not in self.body:
            part = self.next_part()
            assert part, f"{mark!r} never arrived; the answer was {self.body!r}"
            self.body += part
        return self.body

    def rest(self) -> bytes:
        """Return the body, after a clean end."""
        while part := self.next_part():
            self.body += part
        return self.body

    def broken(self) -> bytes:
        """Return what arrived of the body, which must break off."""
        try:
            self.rest()
        except BrokenEndError:
            return self.body
        raise AssertionError(f"a clean end after {self.body!r}")


class _Client:
    """One connection."""

    def __init__(self, connection: socket.socket, host: str = "localhost") -> None:
        self.socket = connection
        self._host = host

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def receive(self) -> bytes:
        """Return the next bytes of the connection; none at its end."""
        try:
            return self.socket.recv(65536)
        except (ConnectionError, ssl.SSLEOFError) as error:
            raise BrokenEndError from error


def _head_and_body(body: Json, headers: Headers) -> tuple[dict[str, str], bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {
        "content-type": "application/json",
        "content-length": str(len(data)),
        **(headers or {}),
    }
    return fields, data


class Http1Client(_Client):
    """HTTP/1.1 on a bare socket, so that chunks can be seen."""

    after = b""
    """What has arrived behind the last answer."""

    def post(
        self, path: str, body: Json, headers: Headers = None, version: str = "1.1"
    ) -> "Http1Reply":
        """Send a request, and return the answer once its headers are in."""
        self.send(path, body, headers, version)
        return Http1Reply(self)

    def send(
        self, path: str, body: Json, headers: Headers = None, version: str = "1.1"
    ) -> None:
        """Send a request."""
        fields, data = _head_and_body(body, headers)
        lines = [f"POST {path} HTTP/{version}", f"host: {self._host}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + data)


class Http1Reply(Reply):
    """The next answer of an HTTP/1 connection."""

    def __init__(self, client: Http1Client) -> None:
        super().__init__()
        self._client = client
        self._reader = ResponseReader(_HEAD)
        self._parts: list[bytes] = []
        self._part = b""
        if client.after:
            self._receive(client.after)
        while not self.status:
            self._receive(client.receive())

    @property
    def status(self) -> int:
        """The answer's; that of an interim one until it is there."""
        return self._reader.status or next(iter(self._reader.interim), 0)

    @property
    def headers(self) -> dict[str, str]:
        """With names in lower case."""
        return self._reader.headers

    @property
    def framing(self) -> str:
        """What tells where the body ends."""
        return self._reader.framing

    @property
    def interim(self) -> list[int]:
        """The statuses of interim answers."""
        return self._reader.interim

    def next_part(self) -> bytes:
        """Return the next chunk, or what is there; `b""` at a clean end."""
        while not self._parts and not self._reader.done:
            self._receive(self._client.receive())
        return self._parts.pop(0) if self._parts else b""

    def _receive(self, data: bytes) -> None:
        if not data:
            if not self._reader.end():
                raise BrokenEndError
            return
        for part, ends in self._reader.parts(data):
            self._part += part
            if ends or self._reader.framing != "chunked":
                self._parts.append(self._part)
                self._part = b""
        self._client.after = self._reader.rest if self._reader.done else b""


class Http2Client(Requests, _Client):
    """HTTP/2 on a TLS connection."""

    def __init__(self, connection: socket.socket, host: str = "localhost") -> None:
        _Client.__init__(self, connection, host)
        Requests.__init__(self, connection.sendall)

    def post(self, path: str, body: Json, headers: Headers = None) -> "Http2Reply":
        """Send a request, and return the answer once its headers are in."""
        return Http2Reply(self, self.send(path, body, headers))

    def send(self, path: str, body: Json, headers: Headers = None) -> int:
        """Send a request, and return its stream."""
        fields, data = _head_and_body(body, headers)
        head = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", self._host),
            (":path", path),
        ]
        return self.ask([*head, *fields.items()], data).stream

    def read(self) -> None:
        """Take the next bytes, of whatever answers."""
        data = self.receive()
        if not data:
            raise BrokenEndError
        self.feed(data)


class Http2Reply(Reply):
    """An HTTP/2 answer."""

    def __init__(self, client: Http2Client, stream: int) -> None:
        super().__init__()
        self._client = client
        self._stream = stream
        self._answer = client.replies[stream]
        while not self._answer.status:
            if not self._answer.news.empty():
                raise BrokenEndError
            client.read()

    @property
    def status(self) -> int:
        """The status code."""
        return self._answer.status

    @property
    def headers(self) -> dict[str, str]:
        """The header fields, with names in lower case."""
        return self._answer.headers

    def next_part(self) -> bytes:
        """Return the next DATA frame that is not empty; `b""` at a clean end."""
        while True:
            while self._answer.news.empty():
                self._client.read()
            news = self._answer.news.get_nowait()
            if news is None:
                self._answer.news.put_nowait(None)  # it remains at its end
                if not self._answer.done:
                    raise BrokenEndError
                return b""
            data, weight = news
            self._client.acknowledge(self._stream, weight)
            if data:
                return data

    def cancel(self) -> None:
        """Cancel the stream, as a client does that has read enough."""
        self._client.cancel(self._stream)
