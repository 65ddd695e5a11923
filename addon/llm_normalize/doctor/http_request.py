"""One HTTP/1.1 request: h11 over asyncio's streams, read as the bytes arrive.

The proxy and the certificates are those that the environment names; no redirect is
followed, and no content encoding is undone.
"""

import asyncio
import base64
import contextlib
import errno
import os
import ssl
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

import certifi
import h11

from ..run.upstream_proxy import Upstream, UpstreamProxyError, upstream
from ..text.network_address import PORTS, address, netloc

_HEAD = 100 * 1024  # bytes
_READ = 64 * 1024
_OTHER_ADDRESS = 0.25  # seconds, after which the next address of a host is tried, too
_SAFE = "%/:?#[]@!$&'()*+,;=~"  # what stands in a URL as it is


class ConnectError(Exception):
    """There is no connection; says why, and quotes nothing of the request."""


class DisconnectedError(Exception):
    """The connection ended before the answer did, or the bytes are not HTTP."""


class _Place(NamedTuple):
    """Where a connection goes; `is_tls` is whether it is encrypted from the start."""

    host: str
    port: int
    is_tls: bool

    @classmethod
    def of(cls, parts: SplitResult) -> "_Place":
        host = parts.hostname or ""
        host = host if ":" in host else host.encode("idna").decode()
        port = parts.port or PORTS[parts.scheme]
        return cls(host, port, parts.scheme == "https")

    def __str__(self) -> str:
        return address(self.host, self.port)


@dataclass
class Response:
    """An answer whose head is there.

    Attributes:
        status: The HTTP status.
        headers: The headers, names in lower case.
    """

    status: int
    headers: list[tuple[str, str]]
    _wire: "_Wire"

    def header(self, name: str) -> str:
        """The values under *name*, in lower case, as one text."""
        return ", ".join(value for key, value in self.headers if key == name)

    async def reads(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the body as they arrive.

        Raises:
            DisconnectedError: The connection ended before the body did.
        """
        while not isinstance(event := await self._wire.event(), h11.EndOfMessage):
            assert isinstance(event, h11.Data)
            yield bytes(event.data)


@contextlib.asynccontextmanager
async def posted(
    url: str, headers: Mapping[str, str], body: bytes, *, may_use_proxy: bool
) -> AsyncIterator[Response]:
    """Give the answer to a POST of *body* to *url* once its head is there.

    Raises:
        ConnectError: There is no connection.
        DisconnectedError: The connection ended before the answer did.
        ValueError: No request can be made of *url* or *headers*.
    """
    parts = urlsplit(url)
    place = _Place.of(parts)
    proxy = _proxy(parts.scheme, place) if may_use_proxy else None
    target = quote(parts.path or "/", safe=_SAFE)
    target += f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    host = netloc(parts.scheme, place.host, place.port)
    sent = {"host": host, **headers, "content-length": str(len(body))}
    if proxy and not place.is_tls:  # RFC 9112, 3.2.2: a proxy wants the whole URL
        target = f"http://{host}{target}"
        sent |= _proxy_auth(proxy)
    reader, writer = await _connected(place, proxy)
    try:
        wire = _Wire(reader, writer)
        await wire.send("POST", target, sent.items(), body)
        head = await wire.head()
        decoded = [
            (name.decode(), value.decode("latin-1")) for name, value in head.headers
        ]
        yield Response(head.status_code, decoded, wire)
    finally:
        writer.transport.abort()  # nobody waits for a polite end of TLS
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class _Wire:
    """HTTP/1.1 on one connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)

    async def send(
        self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> None:
        try:
            head = h11.Request(method=method, target=target, headers=[*headers])
            data = self._http.send(head) or b""
        except h11.LocalProtocolError:  # it quotes the value
            raise ValueError(
                "its URL has characters that no request can have"
            ) from None
        if body:
            data += self._http.send(h11.Data(data=body)) or b""
        data += self._http.send(h11.EndOfMessage()) or b""
        self._writer.write(data)
        # Who answers before all was read may have closed; the answer is there still.
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def head(self) -> h11.Response:
        """The head of the answer, after those that only announce it."""
        while not isinstance(event := await self.event(), h11.Response):
            pass
        return event

    async def event(self) -> h11.Event:
        """The next event of the connection."""
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = await self._reader.read(_READ)
                if not data and self._http.their_state is h11.SEND_RESPONSE:
                    raise DisconnectedError("Server disconnected without a response")
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise DisconnectedError(str(error)) from None
        except OSError as error:
            raise DisconnectedError(_why(error)) from None
        assert not isinstance(event, type)
        return event


# -- connecting ----------------------------------------------------------------------


async def _connected(
    place: _Place, proxy: Upstream | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if proxy is None:
        return await _opened(place, str(place))
    way = _Place.of(urlsplit(proxy.url))
    reader, writer = await _opened(way, f"the proxy {way}")
    if place.is_tls:
        try:
            await _tunnelled(reader, writer, place, proxy)
        except BaseException:
            writer.transport.abort()
            raise
    return reader, writer


async def _opened(
    place: _Place, name: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = trusted() if place.is_tls else None
    with _explained(name):
        return await asyncio.open_connection(
            place.host, place.port, ssl=context, happy_eyeballs_delay=_OTHER_ADDRESS
        )


async def _tunnelled(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    place: _Place,
    proxy: Upstream,
) -> None:
    """Have *proxy* connect to *place*, and speak TLS with that.

    Raises:
        ConnectError: One of them does not.
    """
    wire = _Wire(reader, writer)
    refused = f"the proxy does not let through to {place}"
    try:
        asked = {"host": str(place), **_proxy_auth(proxy)}
        await wire.send("CONNECT", str(place), asked.items(), b"")
        head = await wire.head()
    except DisconnectedError as error:
        raise ConnectError(f"{refused}: {error}") from None
    if not 200 <= head.status_code <= 299:  # noqa: PLR2004 - what stands for success
        words = head.reason.decode("latin-1")
        raise ConnectError(f"{refused}: {head.status_code} {words}".rstrip())
    context = trusted()
    with _explained(str(place)):
        await writer.start_tls(context, server_hostname=place.host)


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say why there is no connection to *name*."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise ConnectError(
            f"{name} shows a certificate that is not trusted ({error.verify_message}); "
            "SSL_CERT_FILE names others"
        ) from None
    except ssl.SSLError as error:
        why = error.reason or "for no stated reason"
        raise ConnectError(f"{name}: TLS failed ({why})") from None
    except OSError as error:
        raise ConnectError(f"{name} cannot be reached: {_why(error)}") from None


def trusted() -> ssl.SSLContext:
    """The context of TLS: the certificates of SSL_CERT_FILE, or the system's.

    Raises:
        ConnectError: They cannot be read.
    """
    file = os.environ.get("SSL_CERT_FILE")
    folder = None if file else os.environ.get("SSL_CERT_DIR")
    try:
        context = ssl.create_default_context(cafile=file, capath=folder)
        if not file and not folder:  # there are Pythons that find no system's
            context.load_verify_locations(certifi.where())
    except OSError as error:
        where = file or folder or certifi.where()
        raise ConnectError(
            f"no certificates can be read from {where}: {_why(error)}"
        ) from None
    context.set_alpn_protocols(["http/1.1"])
    return context


def _proxy(scheme: str, place: _Place) -> Upstream | None:
    """The proxy that the environment names for *place*, if any."""
    named = urllib.request.getproxies()
    found = next((each for each in (scheme, "all") if named.get(each)), None)
    if found is None or any(map(urllib.request.proxy_bypass, (str(place), place.host))):
        return None
    variable = f"{found}_proxy"
    try:
        return upstream(f"env:{variable}", {variable: named[found]})
    except UpstreamProxyError as error:
        raise ConnectError(str(error)) from None


def _proxy_auth(proxy: Upstream) -> dict[str, str]:
    if not proxy.auth:
        return {}
    word = base64.b64encode(proxy.auth.encode()).decode()
    return {"proxy-authorization": f"Basic {word}"}


def _why(error: OSError) -> str:
    if os.name != "nt" and error.errno and error.errno in errno.errorcode:
        return os.strerror(error.errno)  # asyncio's words repeat the address
    return error.strerror or str(error) or type(error).__name__
