"""A request of our own, on the way that mitmproxy takes: its proxy, its certificates.

mitmproxy has no client that an addon may use for this, but brings tornado's.
"""

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import certifi
from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httputil import (
    HTTPHeaders,
    HTTPMessageDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import IOStream
from tornado.tcpclient import TCPClient

_CONNECT = 30  # seconds
_HEAD = 64 * 1024  # bytes
_OK = 200


class UpstreamError(Exception):
    """There was no whole reply; says why."""


class Proxy(NamedTuple):
    """The proxy that mitmproxy itself goes through; *auth* is a header's value."""

    scheme: str
    host: str
    port: int
    auth: str = ""


@dataclass(frozen=True)
class Way:
    """How servers are reached, and whom to trust.

    Attributes:
        proxy: The proxy to go through.
        insecure: Trust any certificate.
        ca_file: Certificates to trust, a PEM file; None for certifi's.
        ca_path: The same as a folder, as OpenSSL has it.
        client_cert: A PEM file with our own certificate and key.
        limit: Bytes of a reply's body; None for any.
    """

    proxy: Proxy | None = None
    insecure: bool = False
    ca_file: str | None = None
    ca_path: str | None = None
    client_cert: str | None = None
    limit: int | None = None

    def tls(self) -> ssl.SSLContext:
        """Return what a TLS connection is made with."""
        given = self.ca_file or self.ca_path
        context = ssl.create_default_context(
            cafile=self.ca_file if given else certifi.where(), capath=self.ca_path
        )
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_cert:
            context.load_cert_chain(self.client_cert)
        return context


@dataclass
class Reply:
    """An HTTP response, its body not decoded."""

    status: int = 0
    reason: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


class _Reader(HTTPMessageDelegate):
    """Keeps what tornado reads."""

    def __init__(self) -> None:
        self.reply = Reply()
        self.is_whole = False
        self._parts: list[bytes] = []

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        assert isinstance(start_line, ResponseStartLine)
        given = list(headers.get_all())
        self.reply = Reply(start_line.code, start_line.reason, given)

    def data_received(self, chunk: bytes) -> None:
        self._parts.append(chunk)

    def finish(self) -> None:
        self.reply.body = b"".join(self._parts)
        self.is_whole = True


async def get(url: str, headers: dict[str, str], way: Way, *, name: str = "") -> Reply:
    """Return what a GET of *url* is answered with.

    Args:
        url: The URL, whose host is connected to.
        headers: The headers, `host` among them.
        way: How to get there.
        name: The name that the server's certificate must have, if not the host.

    Raises:
        UpstreamError: There is no whole reply.
    """
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    host = parts.hostname or ""
    target = f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}"
    sent = HTTPHeaders({**headers, "connection": "close"})
    stream = None
    try:
        async with asyncio.timeout(_CONNECT):
            stream = await _connect(
                host, parts.port or (443 if is_tls else 80), way, is_tls
            )
            if is_tls:
                stream = await stream.start_tls(
                    False, way.tls(), server_hostname=name or host
                )
        if way.proxy and not is_tls:  # RFC 9112, 3.2.2: a proxy wants the whole URL
            target = f"http://{headers.get('host', parts.netloc)}{target}"
            if way.proxy.auth:
                sent["proxy-authorization"] = way.proxy.auth
        return await _exchange(stream, target, sent, way.limit)
    except (OSError, ssl.SSLError, ValueError, UpstreamError) as error:
        reason = str(error) or type(error).__name__
        raise UpstreamError(f"{parts.scheme}://{parts.netloc}: {reason}") from error
    finally:
        if stream is not None:
            stream.close()


async def _connect(host: str, port: int, way: Way, is_tls: bool) -> IOStream:
    """Return a connection to *host*, for TLS through a tunnel of the proxy's."""
    proxy = way.proxy
    if proxy is None:
        return await TCPClient().connect(host, port)
    stream = await TCPClient().connect(proxy.host, proxy.port)
    if proxy.scheme == "https":
        if is_tls:
            stream.close()
            raise UpstreamError("tornado cannot speak TLS through an HTTPS proxy")
        return await stream.start_tls(False, way.tls(), server_hostname=proxy.host)
    if is_tls:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        auth = f"proxy-authorization: {proxy.auth}\r\n" if proxy.auth else ""
        head = f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n{auth}\r\n"
        await stream.write(head.encode("latin-1"))
        answer = await stream.read_until(b"\r\n\r\n", max_bytes=_HEAD)
        status = answer.split(b" ", 2)[1:2]
        if status != [b"%d" % _OK]:
            stream.close()
            said = answer.partition(b"\r\n")[0].decode("latin-1")
            raise UpstreamError(f"the proxy {proxy.host}:{proxy.port} says {said!r}")
    return stream


async def _exchange(
    stream: IOStream, target: str, headers: HTTPHeaders, limit: int | None
) -> Reply:
    size = limit or stream.max_buffer_size
    params = HTTP1ConnectionParameters(max_header_size=_HEAD, max_body_size=size)
    connection = HTTP1Connection(stream, is_client=True, params=params)
    reader = _Reader()
    await connection.write_headers(RequestStartLine("GET", target, ""), headers)
    connection.finish()
    await connection.read_response(reader)
    if not reader.is_whole:
        raise UpstreamError("the reply broke off, or is malformed or too large")
    return reader.reply
