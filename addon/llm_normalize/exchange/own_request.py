"""A request of our own, on the way that mitmproxy takes: its proxy, its certificates.

mitmproxy has no client that an addon may use for this, but brings tornado's. Not so its
standalone mitmdump (release/specs/standalone.spec leaves out mitmweb, which alone needs
tornado): there the addon loads and repairs, and asks nothing by itself.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import certifi

try:
    from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
    from tornado.httputil import (
        HTTPHeaders,
        HTTPInputError,
        HTTPMessageDelegate,
        RequestStartLine,
        ResponseStartLine,
    )
    from tornado.iostream import IOStream, SSLIOStream
    from tornado.tcpclient import TCPClient

    _HAS_TORNADO = True
except ImportError:
    HTTPMessageDelegate = object  # type: ignore[assignment, misc]
    _HAS_TORNADO = False

_CONNECT = 30  # seconds
_SILENCE = 120  # seconds; NVIDIA holds a question for a result back for a minute
_HEAD = 64 * 1024  # bytes
_FINAL = 200  # below it, there is more to come


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
        limit: Bytes of a reply's body; None for tornado's bound (100 MB).
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
        # Python 3.13 asks more of certificates than mitmproxy does.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
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
    """Keeps what tornado reads.

    Tornado reads on after what follows a 1xx, to the end of the connection: so that is
    closed, and what comes after the reply is not looked at.
    """

    def __init__(
        self, stream: IOStream, limit: int, silence: asyncio.Timeout, seconds: float
    ) -> None:
        self.reply = Reply()
        self.is_whole = False
        self._stream = stream
        self._limit = limit
        self._silence = silence
        self._seconds = seconds
        self._parts: list[bytes] = []
        self._ends_with_connection = False
        self._is_over = False

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        assert isinstance(start_line, ResponseStartLine)
        given = list(headers.get_all())
        self.reply = Reply(start_line.code, start_line.reason or "", given)
        framed = {"Content-Length", "Transfer-Encoding"}
        self._ends_with_connection = not framed & headers.keys()

    def data_received(self, chunk: bytes) -> None:
        if not self._is_over:
            self._parts.append(chunk)
            loop = asyncio.get_running_loop()
            self._silence.reschedule(loop.time() + self._seconds)

    def on_connection_close(self) -> None:
        self._is_over = True  # too large, or malformed

    def finish(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        body = self.reply.body = b"".join(self._parts)
        self.is_whole = self.reply.status >= _FINAL and not (
            # Tornado calls that the end, too.
            self._ends_with_connection
            and (self._stream.error is not None or len(body) > self._limit)
        )
        self._stream.close()


class Asking(NamedTuple):
    """A request, without the connection's headers; *silence*: seconds that are too many."""

    method: str
    url: str
    headers: Iterable[tuple[str, str]]
    body: bytes
    silence: float


async def get(url: str, headers: dict[str, str], way: Way, *, name: str = "") -> Reply:
    """Return what a GET of *url* is answered with; see `ask`."""
    return await ask(Asking("GET", url, headers.items(), b"", _SILENCE), way, name=name)


async def ask(asking: Asking, way: Way, *, name: str = "") -> Reply:
    """Return what a request is answered with. No redirect is followed.

    Args:
        asking: The request.
        way: How to get there.
        name: The name that the server's certificate must have, if not the host.

    Raises:
        UpstreamError: There is no whole reply.
    """
    if not _HAS_TORNADO:
        raise UpstreamError(
            "mitmproxy's standalone mitmdump cannot ask by itself: use its mitmweb, or "
            "mitmproxy from PyPI"
        )
    try:
        with ExitStack() as opened:
            return await _ask(asking, way, name, opened)
    except Exception as error:  # tornado's are of many kinds, AssertionError among them
        reason = str(error) or type(error).__name__
        place = "/".join(asking.url.split("/")[:3])
        raise UpstreamError(f"{place}: {reason}") from error


async def _ask(asking: Asking, way: Way, name: str, opened: ExitStack) -> Reply:
    parts = urlsplit(asking.url)
    is_tls = parts.scheme == "https"
    host = parts.hostname or ""
    target = f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}"
    own = {"connection": "close"}
    if asking.body:
        own["content-length"] = str(len(asking.body))
    name = name or host
    name.encode("idna")  # Python 3.12 leaks a socket whose name it refuses
    async with asyncio.timeout(_CONNECT):
        port = parts.port or (443 if is_tls else 80)
        stream = await _connect(host, port, way, is_tls, opened)
        if is_tls:
            stream = await _secure(stream, way.tls(), name, opened)
    if way.proxy and not is_tls:  # RFC 9112, 3.2.2: a proxy wants the whole URL
        target = f"http://{parts.netloc}{target}"
        if way.proxy.auth:
            own["proxy-authorization"] = way.proxy.auth
    sent = asking._replace(headers=[*asking.headers, *own.items()])
    return await _exchange(stream, target, sent, way.limit)


async def _connect(
    host: str, port: int, way: Way, is_tls: bool, opened: ExitStack
) -> IOStream:
    """Return a connection to *host*, for TLS through a tunnel of the proxy's."""
    proxy = way.proxy
    if proxy is None:
        return await _open(host, port, opened)
    if proxy.scheme == "https" and is_tls:
        raise UpstreamError("tornado cannot speak TLS through an HTTPS proxy")
    stream = await _open(proxy.host, proxy.port, opened)
    if proxy.scheme == "https":
        return await _secure(stream, way.tls(), proxy.host, opened)
    if is_tls:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        auth = f"proxy-authorization: {proxy.auth}\r\n" if proxy.auth else ""
        head = f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n{auth}\r\n"
        await stream.write(head.encode("latin-1"))
        answer = await stream.read_until_regex(rb"\r?\n\r?\n", max_bytes=_HEAD)
        if not re.match(rb"HTTP/1\.\d 2\d\d\s", answer):
            said = answer.splitlines()[0].decode("latin-1")
            raise UpstreamError(f"the proxy {proxy.host}:{proxy.port} says {said!r}")
    return stream


async def _open(host: str, port: int, opened: ExitStack) -> IOStream:
    # This timeout, after ours, closes what is still connecting when nobody waits.
    stream = await TCPClient().connect(host, port, timeout=_CONNECT * 1.1)
    opened.callback(stream.close)
    return stream


async def _secure(
    stream: IOStream, context: ssl.SSLContext, name: str, opened: ExitStack
) -> IOStream:
    """Return *stream* with TLS; tornado's `start_tls` leaks it when that fails."""
    with stream.socket.dup() as raw:
        stream.close()
        wrapped = context.wrap_socket(
            raw, server_hostname=name, do_handshake_on_connect=False
        )
    secure = SSLIOStream(wrapped, ssl_options=context)
    opened.callback(secure.close)
    handshake = secure.wait_for_handshake()
    await asyncio.wait({handshake})  # if it were cancelled itself, `close` would raise
    handshake.result()
    return secure


async def _exchange(
    stream: IOStream, target: str, asking: Asking, limit: int | None
) -> Reply:
    size = limit or stream.max_buffer_size
    params = HTTP1ConnectionParameters(max_header_size=_HEAD, max_body_size=size)
    connection = HTTP1Connection(stream, is_client=True, params=params)
    async with asyncio.timeout(asking.silence) as silence:
        size = min(size, stream.max_buffer_size)
        reader = _Reader(stream, size, silence, asking.silence)
        try:
            sent = HTTPHeaders()
            for name, value in asking.headers:
                sent.add(name, value)
            line = RequestStartLine(asking.method, target, "")
            await connection.write_headers(line, sent, asking.body or None)
        except (ValueError, HTTPInputError):  # it quotes the value
            raise UpstreamError("a header cannot be sent") from None
        connection.finish()
        await connection.read_response(reader)
    if not reader.is_whole:
        raise UpstreamError("the reply broke off, or is malformed or too large")
    return reader.reply
