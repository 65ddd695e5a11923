import asyncio
import contextlib
import datetime as dt
import gc
import os
import runpy
import socket
import ssl
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import crypto

from llm_normalize.exchange import own_request
from llm_normalize.exchange.own_request import (
    Asking,
    Proxy,
    Reply,
    UpstreamError,
    Way,
    ask,
    get,
)
from support import LOOPBACK, make_ca, server_context

type Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

SOON = 5.0
"""Seconds in which everything here must have ended."""
KEY = "Bearer nvapi-canary"
OK = b"HTTP/1.1 200 OK\r\n"
WHOLE = OK + b"content-length: 2\r\n\r\nhi"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
EARLY = b"HTTP/1.1 100 Continue\r\n\r\n"
ANYONE = Way(insecure=True)


@dataclass
class Server:
    """Answers each connection once; the client has to close it."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    """What each connection asked."""
    gone: int = 0
    """Connections that the client has closed."""

    def url(self, path: str = "/r", scheme: str = "http") -> str:
        return f"{scheme}://{LOOPBACK}:{self.port}{path}"

    @property
    def proxy(self) -> Proxy:
        return Proxy("http", LOOPBACK, self.port)


async def head_of(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\r\n\r\n")).decode()


def saying(*parts: bytes | float, end: bool = False) -> Play:
    """Return an answer: bytes, and pauses in seconds; *end* closes after them."""

    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            if isinstance(part, bytes):
                writer.write(part)
                await writer.drain()
            else:
                await asyncio.sleep(part)
        if end:
            writer.close()

    return play


def resetting(data: bytes) -> Play:
    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(0.05)
        sock = writer.get_extra_info("socket")
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    return play


@contextlib.asynccontextmanager
async def serving(
    answer: bytes | Play,
    *,
    context: ssl.SSLContext | None = None,
    host: str = LOOPBACK,
    silent: bool = False,
) -> AsyncIterator[Server]:
    """Serve *answer*; *silent* does not even wait for a request."""
    play = saying(answer) if isinstance(answer, bytes) else answer
    made = Server()
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if not silent:
                made.heads.append(await head_of(reader))
            await play(reader, writer)
            while await reader.read(65536):
                pass
        made.gone += 1
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    listener = await asyncio.start_server(serve, host, 0, ssl=context)
    made.port = listener.sockets[0].getsockname()[1]
    try:
        yield made
        # A connection that the client has not closed would never end.
        if connections:
            _, left = await asyncio.wait(connections, timeout=SOON)
            assert not left, "a connection stayed open"
    finally:
        for task in connections:
            task.cancel()
        listener.close()
        await listener.wait_closed()


def run[T](scene: Coroutine[Any, Any, T]) -> T:
    """Run *scene*, which must leave nothing behind."""

    async def whole() -> T:
        before = asyncio.all_tasks()
        async with asyncio.timeout(4 * SOON):
            result = await scene
        for _ in range(5):
            await asyncio.sleep(0)
        assert not asyncio.all_tasks() - before
        return result

    return asyncio.run(whole())


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """See that no exception is lost in a callback, and no key in a log."""
    caplog.set_level("DEBUG")
    yield
    loggers = ("asyncio", "tornado.application")
    lost = [
        each
        for each in caplog.records
        if each.name in loggers and each.levelname == "ERROR"
    ]
    assert not lost
    assert "canary" not in caplog.text


def fetched(
    answer: bytes | Play, way: Way = ANYONE, path: str = "/r", **more: Any
) -> tuple[Reply, Server]:
    """Return what a server that answers so is understood to say."""

    async def scene() -> tuple[Reply, Server]:
        async with serving(answer, **more) as server:
            headers = {"host": "there", "authorization": KEY}
            return await get(server.url(path), headers, way), server

    return run(scene())


def refused(
    answer: bytes | Play, way: Way = ANYONE, scheme: str = "http", **more: Any
) -> str:
    """Return why there is no reply from a server that answers so."""

    async def scene() -> str:
        async with serving(answer, **more) as server:
            headers = {"host": "there", "authorization": KEY}
            with pytest.raises(UpstreamError) as caught:
                await get(server.url(scheme=scheme), headers, way)
        assert "canary" not in str(caught.value)
        prefix = f"{scheme}://{LOOPBACK}:{server.port}: "
        assert str(caught.value).startswith(prefix)
        return str(caught.value).removeprefix(prefix)

    return run(scene())


# -- requests ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "target"), [("/r", "/r"), ("", "/"), ("/a%2Fb?c=d", "/a%2Fb?c=d")]
)
def test_what_is_asked(path: str, target: str) -> None:
    _, server = fetched(WHOLE, path=path)
    first, *fields = server.heads[0].strip().split("\r\n")
    assert first == f"GET {target} HTTP/1.1"
    assert {each.lower() for each in fields} == {
        "host: there",
        f"authorization: {KEY}".lower(),
        "connection: close",
    }


@pytest.mark.parametrize("value", [f"{KEY}\r\nx: y", f"{KEY}€", f"{KEY}\udcff"])
def test_a_header_that_cannot_be_sent_is_not_quoted(value: str) -> None:
    async def scene() -> str:
        async with serving(b"", silent=True) as server:
            with pytest.raises(UpstreamError) as caught:
                await get(server.url(), {"authorization": value}, ANYONE)
        return str(caught.value)

    assert run(scene()).endswith(": a header cannot be sent")


def test_bytes_beyond_ascii_are_sent_as_they_are() -> None:
    async def scene() -> bytes:
        found = b""

        async def play(reader: asyncio.StreamReader, writer: Any) -> None:
            nonlocal found
            found = await reader.readuntil(b"\r\n\r\n")
            await saying(WHOLE)(reader, writer)

        async with serving(play, silent=True) as server:
            await get(server.url(), {"authorization": "\xc3\xbc"}, ANYONE)
        return found

    assert b"Authorization: \xc3\xbc\r\n" in run(scene())


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "http://[::1/", "http://"])
def test_a_url_that_is_none_is_an_error(url: str) -> None:
    async def scene() -> None:
        with pytest.raises(UpstreamError):
            await get(url, {}, ANYONE)

    run(scene())


# -- replies -----------------------------------------------------------------------

REPLIES = {
    "content-length": (WHOLE, 200, b"hi"),
    "no-body": (b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", 500, b""),
    "chunked": (
        CHUNKED + b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n",
        200,
        b"hi",
    ),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "304": (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, b""),
    "kept-alive-1.0": (
        b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi",
        200,
        b"hi",
    ),
    "more-than-was-said": (WHOLE + b"garbage", 200, b"hi"),
    "100": (EARLY + WHOLE, 200, b"hi"),
    "100-garbage": (EARLY + WHOLE + b"more", 200, b"hi"),
    "102-103": (
        b"HTTP/1.1 102 Processing\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + WHOLE,
        200,
        b"hi",
    ),
    "100-chunked": (
        EARLY + CHUNKED + b"2\r\nhi\r\n0\r\n\r\n",
        200,
        b"hi",
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_reply_is_read_while_the_server_keeps_the_connection(name: str) -> None:
    data, status, body = REPLIES[name]
    reply, server = fetched(data)
    assert (reply.status, reply.body) == (status, body)
    assert "link" not in {name.lower() for name, _ in reply.headers}
    assert server.gone == 1


@pytest.mark.parametrize("name", REPLIES)
def test_reply_that_comes_byte_by_byte_is_the_same(name: str) -> None:
    data, status, body = REPLIES[name]
    parts = [part for byte in data for part in (bytes([byte]), 0.0)]
    reply, _ = fetched(saying(*parts))
    assert (reply.status, reply.body) == (status, body)


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
@pytest.mark.parametrize("before", ["", "HTTP/1.1 103 Early Hints\r\n\r\n"])
@pytest.mark.parametrize("body", [b"", b"all of it"])
def test_reply_may_end_with_the_connection(
    version: str, before: str, body: bytes
) -> None:
    head = f"{before}{version} 200 OK\r\nx: y\r\n\r\n".encode()
    reply, _ = fetched(saying(head, 0.01, body, end=True))
    assert (reply.status, reply.body) == (200, body)


def test_headers_are_kept_each_for_itself() -> None:
    reply, _ = fetched(
        b"HTTP/1.1 200 Fine So Far\r\nSet-Cookie: a\r\nX: \xe4\r\nset-cookie: b\r\n"
        b"content-encoding: gzip\r\ncontent-length: 1\r\n\r\n\x1f"
    )
    assert reply.reason == "Fine So Far"
    assert sorted(reply.headers) == [
        ("Content-Encoding", "gzip"),
        ("Content-Length", "1"),
        ("Set-Cookie", "a"),
        ("Set-Cookie", "b"),
        ("X", "\xe4"),
    ]
    assert reply.body == b"\x1f"  # as it came


def test_reason_may_be_missing() -> None:
    reply, _ = fetched(b"HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n")
    assert reply.reason == ""


def test_large_body_is_read_whole() -> None:
    body = bytes(range(256)) * 4096
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
    reply, _ = fetched(head + body)
    assert reply.body == body


# -- no replies --------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 20",
        OK,
        OK + b"content-length: 9\r\n\r\nhalf",
        CHUNKED,
        CHUNKED + b"5\r\nhal",
        CHUNKED + b"5\r\nwhole\r\n",
        CHUNKED + b"5\r\nwhole\r\n0\r\n",
        EARLY,
        EARLY + OK,
    ],
)
@pytest.mark.parametrize("play", [lambda data: saying(data, end=True), resetting])
def test_reply_that_breaks_off_is_none(
    data: bytes, play: Callable[[bytes], Play]
) -> None:
    assert refused(play(data))


def test_reset_is_not_the_end_of_a_reply() -> None:
    # Without a length, tornado takes it for one.
    assert "broke off" in refused(resetting(OK + b"\r\nhalf"))


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"content-length: many\r\n\r\nhi",
        OK + b"content-length: -2\r\n\r\nhi",
        OK + b"content-length: 2, 3\r\n\r\nhi",
        OK + b"x: " + b"y" * 70_000 + b"\r\n\r\n",
        CHUNKED + b"many\r\nhi\r\n0\r\n\r\n",
        CHUNKED + b"2\r\nhi!!0\r\n\r\n",
        CHUNKED + b"0\r\n!!",
        CHUNKED + b"9" * 200,
        b"HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nhi",
        EARLY + b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\ncontent-length: 2\r\n\r\nhi" + WHOLE,
        EARLY + OK + b"content-length: many\r\n\r\nhi",
        EARLY * 2000,
    ],
    ids=lambda data: repr(data[:60]),
)
def test_reply_that_is_malformed_is_none(data: bytes) -> None:
    assert refused(data)


def framings(size: int) -> dict[str, Play]:
    body = b"x" * size
    length = OK + b"content-length: %d\r\n\r\n" % size
    return {
        "length": saying(length + body),
        "length-after-100": saying(EARLY + length + body),
        "chunked": saying(CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (size, body)),
        "chunks": saying(CHUNKED + b"1\r\nx\r\n" * size + b"0\r\n\r\n"),
        "close": saying(OK + b"\r\n" + body, end=True),
    }


@pytest.mark.parametrize("framing", framings(0))
def test_body_has_a_limit(framing: str) -> None:
    way = Way(limit=1000)
    reply, _ = fetched(framings(1000)[framing], way)
    assert reply.body == b"x" * 1000
    assert "too large" in refused(framings(1001)[framing], way)


def test_connection_refused_is_an_error() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]

    async def scene() -> None:
        with pytest.raises(UpstreamError):
            await get(f"http://{LOOPBACK}:{port}/", {}, ANYONE)

    run(scene())


def test_host_that_nobody_knows_is_an_error() -> None:
    async def scene() -> None:
        with pytest.raises(UpstreamError, match=r"^http://no-where\.invalid:1: "):
            await get("http://no-where.invalid:1/", {}, ANYONE)

    run(scene())


# -- how long ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "play",
    [
        saying(),
        saying(b"HTTP/1.1 200 O"),
        saying(OK + b"content-length: 9\r\n\r\nhalf"),
        saying(OK + b"\r\nhalf"),
        saying(CHUNKED + b"5\r\n"),
        saying(EARLY),
    ],
)
def test_server_that_says_nothing_more_is_given_up(
    monkeypatch: pytest.MonkeyPatch, play: Play
) -> None:
    monkeypatch.setattr(own_request, "_SILENCE", 0.1)
    assert refused(play) == "TimeoutError"


def test_headers_that_trickle_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_request, "_SILENCE", 0.2)
    trickle = [part for _ in range(100) for part in (b"x: y\r\n", 0.05)]
    assert refused(saying(OK, *trickle)) == "TimeoutError"


def test_body_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_request, "_SILENCE", 0.8)
    pieces = [part for _ in range(4) for part in (0.25, b"1\r\nx\r\n")]
    reply, _ = fetched(saying(CHUNKED, *pieces, b"0\r\n\r\n"))
    assert reply.body == b"xxxx"


def test_handshake_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_request, "_CONNECT", 0.1)
    assert refused(saying(), scheme="https", silent=True) == "TimeoutError"


@contextlib.contextmanager
def deaf() -> Iterator[int]:
    """Yield a port where connecting takes for ever (elsewhere it is refused)."""
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind((LOOPBACK, 0))
        listener.listen(0)
        for _ in range(3):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_connecting_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_request, "_CONNECT", 0.1)

    async def scene(port: int) -> None:
        with pytest.raises(UpstreamError):
            await get(f"http://{LOOPBACK}:{port}/", {}, ANYONE)
        await asyncio.sleep(0.1)

    with deaf() as port:
        run(scene(port))
    gc.collect()  # a socket that leaked would say so


async def cancelled(url: str, way: Way = ANYONE) -> None:
    task = asyncio.create_task(get(url, {}, way))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_what_is_cancelled_while_it_connects_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_request, "_CONNECT", 0.3)

    async def scene(port: int) -> None:
        await cancelled(f"http://{LOOPBACK}:{port}/")
        await asyncio.sleep(0.4)

    with deaf() as port:
        run(scene(port))
    gc.collect()


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("proxied", [False, True])
def test_what_is_cancelled_later_closes_its_connection(
    scheme: str, proxied: bool
) -> None:
    async def scene() -> int:
        async with serving(saying(), silent=True) as server:
            way = Way(proxy=server.proxy if proxied else None)
            await cancelled(server.url(scheme=scheme), way)
        return server.gone

    assert run(scene()) == 1


# -- TLS ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_ca(tmp_path_factory.mktemp("ca"), "test")


@pytest.fixture(scope="module")
def tls(ca: Path) -> ssl.SSLContext:
    return server_context(ca.parent, "test", ["http/1.1"])


@pytest.fixture(scope="module")
def self_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate as people make them, which Python 3.13 calls malformed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "me")])
    names = [x509.DNSName("other.test"), x509.IPAddress(ip_address(LOOPBACK))]
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("self-made") / "self-made.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path


def context_of(path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def secured(context: ssl.SSLContext, way: Way, name: str = "") -> bytes:
    """Return the body that comes over TLS."""

    async def scene() -> bytes:
        async with serving(WHOLE, context=context) as server:
            reply = await get(server.url(scheme="https"), {}, way, name=name)
        assert server.gone == 1
        return reply.body

    return run(scene())


def distrusted(context: ssl.SSLContext, way: Way, name: str = "") -> str:
    """Return why nothing is asked over TLS."""

    async def scene() -> str:
        async with serving(WHOLE, context=context) as server:
            with pytest.raises(UpstreamError) as caught:
                await get(server.url(scheme="https"), {}, way, name=name)
            await asyncio.sleep(0.02)
        assert server.heads == []
        return str(caught.value)

    return run(scene())


def test_ca_file_is_trusted(ca: Path, tls: ssl.SSLContext) -> None:
    assert secured(tls, Way(ca_file=str(ca))) == b"hi"


def test_ca_path_is_trusted(ca: Path, tls: ssl.SSLContext, tmp_path: Path) -> None:
    found = crypto.load_certificate(crypto.FILETYPE_PEM, ca.read_bytes())
    (tmp_path / f"{found.subject_name_hash():08x}.0").write_bytes(ca.read_bytes())
    assert secured(tls, Way(ca_path=str(tmp_path))) == b"hi"


def test_others_are_not_trusted(tls: ssl.SSLContext, self_made: Path) -> None:
    for way in (Way(), Way(ca_file=str(self_made))):
        assert "CERTIFICATE_VERIFY_FAILED" in distrusted(tls, way)


def test_everybody_is_trusted_if_the_user_says_so(
    tls: ssl.SSLContext, self_made: Path
) -> None:
    assert secured(tls, ANYONE) == b"hi"
    assert secured(tls, ANYONE, name="wrong.test") == b"hi"
    assert secured(context_of(self_made), ANYONE) == b"hi"


def test_certificate_that_mitmproxy_would_take_is_taken(self_made: Path) -> None:
    way = Way(ca_file=str(self_made))
    assert secured(context_of(self_made), way) == b"hi"
    assert secured(context_of(self_made), way, name="other.test") == b"hi"


def test_name_of_the_certificate_is_checked(ca: Path, tls: ssl.SSLContext) -> None:
    way = Way(ca_file=str(ca))
    assert secured(tls, way, name="localhost") == b"hi"
    assert "wrong.test" in distrusted(tls, way, name="wrong.test")


def test_name_is_told_to_the_server(ca: Path) -> None:
    context = server_context(ca.parent, "test", [])
    told: list[str | None] = []
    context.sni_callback = lambda _, name, __: told.append(name)
    assert secured(context, Way(ca_file=str(ca)), name="localhost") == b"hi"
    assert told == ["localhost"]


@pytest.mark.parametrize("name", ["a..b", "x" * 300])
def test_name_that_is_none_is_an_error(tls: ssl.SSLContext, name: str) -> None:
    assert distrusted(tls, ANYONE, name)


def test_client_certificate_is_shown(ca: Path, self_made: Path) -> None:
    context = server_context(ca.parent, "test", [])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(self_made)
    leaf = ca.parent / "test-leaf.pem"
    trusting = Way(ca_file=str(ca), client_cert=str(self_made))
    assert secured(context, trusting) == b"hi"
    assert distrusted(context, replace(trusting, client_cert=None))
    assert distrusted(context, replace(trusting, client_cert=str(leaf)))


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_file_that_holds_none_is_an_error(
    tls: ssl.SSLContext, tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "cert.pem"
    if text is not None:
        path.write_text(text)
    assert distrusted(tls, Way(ca_file=str(path)))
    assert distrusted(tls, Way(client_cert=str(path)))


def test_server_that_speaks_no_tls_is_an_error() -> None:
    assert refused(
        saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), scheme="https", silent=True
    )


def test_server_that_hangs_up_in_the_handshake_is_an_error() -> None:
    for play in (saying(end=True), resetting(b"")):
        assert refused(play, scheme="https", silent=True)


def test_reply_over_tls_may_end_with_the_connection(tls: ssl.SSLContext) -> None:
    async def scene() -> bytes:
        play = saying(OK + b"\r\nall", end=True)
        async with serving(play, context=tls) as server:
            return (await get(server.url(scheme="https"), {}, ANYONE)).body

    assert run(scene()) == b"all"


# -- through a proxy ---------------------------------------------------------------


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def tunnel(answer: bytes, port: int) -> Play:
    """Answer so, then relay to *port*."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        there, back = await asyncio.open_connection(LOOPBACK, port)
        await asyncio.gather(relay(reader, back), relay(there, writer))

    return play


def fields_of(head: str) -> dict[str, str]:
    fields = (line.partition(": ") for line in head.strip().split("\r\n")[1:])
    return {name.lower(): value for name, _, value in fields}


@pytest.mark.parametrize("auth", ["", "Basic dTpw"])
def test_http_goes_through_the_proxy_in_absolute_form(auth: str) -> None:
    async def scene() -> Server:
        async with serving(WHOLE) as proxy:
            way = Way(proxy=proxy.proxy._replace(auth=auth))
            headers = {"host": "here.test"}
            await get("http://there.test:81/a?b=c", headers, way)
        return proxy

    (head,) = run(scene()).heads
    assert head.startswith("GET http://there.test:81/a?b=c HTTP/1.1\r\n")
    assert fields_of(head) == {
        "host": "here.test",
        "connection": "close",
        **({"proxy-authorization": auth} if auth else {}),
    }


@pytest.mark.parametrize("auth", ["", "Basic dTpw"])
@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 Connection established\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nvia: x\r\n\r\n",
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\n\n",
    ],
)
def test_https_goes_through_a_tunnel(
    ca: Path, tls: ssl.SSLContext, auth: str, answer: bytes
) -> None:
    async def scene() -> tuple[Server, Server]:
        async with (
            serving(WHOLE, context=tls) as server,
            serving(tunnel(answer, server.port)) as proxy,
        ):
            way = Way(ca_file=str(ca), proxy=proxy.proxy._replace(auth=auth))
            headers = {"host": "h", "authorization": KEY}
            url = f"https://there.test:{server.port}/r"
            reply = await get(url, headers, way, name="localhost")
            assert reply.body == b"hi"
        return server, proxy

    server, proxy = run(scene())
    place = f"there.test:{server.port}"
    assert proxy.heads[0].startswith(f"CONNECT {place} HTTP/1.1\r\n")
    given = {"proxy-authorization": auth} if auth else {}
    assert fields_of(proxy.heads[0]) == {"host": place, **given}
    assert server.heads[0].startswith("GET /r HTTP/1.1\r\n")
    assert fields_of(server.heads[0]) == {
        "host": "h",
        "authorization": KEY,
        "connection": "close",
    }


def through(answer: bytes | Play, scheme: str = "http") -> str:
    """Return why there is no tunnel through a proxy that answers so."""

    async def scene() -> str:
        async with serving(answer) as proxy:
            way = Way(proxy=Proxy(scheme, LOOPBACK, proxy.port, "Basic canary"))
            with pytest.raises(UpstreamError) as caught:
                await get("https://there.test/", {"authorization": KEY}, way)
        assert KEY not in "".join(proxy.heads)
        assert "canary" not in str(caught.value)
        text = str(caught.value).replace(str(proxy.port), "PORT")
        return text.removeprefix("https://there.test: ")

    return run(scene())


@pytest.mark.parametrize(
    "line",
    [
        "HTTP/1.1 407 Proxy Authentication Required",
        "HTTP/1.1 403 Forbidden",
        "HTTP/1.1 502 200",
        "HTTP/1.1 2000 OK",
        "SSH-2.0 200 hello",
    ],
)
def test_refusal_of_the_proxy_is_told(line: str) -> None:
    said = through(f"{line}\r\ncontent-length: 2\r\n\r\nno".encode())
    assert said == f"the proxy {LOOPBACK}:PORT says {line!r}"


@pytest.mark.parametrize(
    "answer",
    [
        saying(end=True),
        saying(b"HTTP/1.1 200 OK\r\n", end=True),
        saying(b"x" * 70_000 + b"\r\n\r\n"),
        resetting(b""),
        saying(b"\r\n\r\n"),
        saying(b"HTTP/1.1 200 OK\r\n\r\n", 0.1, b"SSH-2.0-OpenSSH_9.6\r\n"),
    ],
)
def test_proxy_that_talks_nonsense_is_an_error(answer: Play) -> None:
    assert through(answer)


def test_proxy_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_request, "_CONNECT", 0.1)
    said = b"HTTP/1.1 200 OK\r\n"
    for play in (
        saying(),
        saying(said),
        saying(said + b"\r\n"),
        saying(said + b"\r\nx"),
    ):
        assert through(play) == "TimeoutError"


def test_proxy_that_speaks_tls_serves_http(ca: Path, tls: ssl.SSLContext) -> None:
    async def scene(way: Way) -> Server:
        async with serving(WHOLE, context=tls) as server:
            proxy = Proxy("https", LOOPBACK, server.port, "Basic dTpw")
            way = Way(ca_file=way.ca_file, proxy=proxy)
            assert (await get("http://there.test/", {}, way)).body == b"hi"
        return server

    (head,) = run(scene(Way(ca_file=str(ca)))).heads
    assert head.startswith("GET http://there.test/ HTTP/1.1\r\n")
    assert fields_of(head)["proxy-authorization"] == "Basic dTpw"
    with pytest.raises(UpstreamError, match="CERTIFICATE_VERIFY_FAILED"):
        run(scene(Way()))


def test_https_through_a_proxy_that_speaks_tls_is_refused() -> None:
    assert "HTTPS proxy" in through(WHOLE, scheme="https")


# -- IPv6 --------------------------------------------------------------------------


def test_address_may_be_of_version_6() -> None:
    async def scene() -> None:
        try:
            async with serving(WHOLE, host="::1") as server:
                url = f"http://[::1]:{server.port}/r"
                assert (await get(url, {}, ANYONE)).body == b"hi"
        except OSError:
            pytest.skip("there is no IPv6 here")

    run(scene())


def test_address_of_version_6_stands_in_brackets() -> None:
    async def scene() -> list[str]:
        async with serving(saying(b"HTTP/1.1 403 No\r\n\r\n", end=True)) as proxy:
            way = Way(proxy=proxy.proxy)
            for url in ("http://[::1]:81/", "https://[::1]/"):
                with contextlib.suppress(UpstreamError):
                    await get(url, {"host": "h"}, way)
        return proxy.heads

    first, second = run(scene())
    assert first.startswith("GET http://[::1]:81/ HTTP/1.1\r\n")
    assert second.startswith("CONNECT [::1]:443 HTTP/1.1\r\nhost: [::1]:443\r\n")


# -- a request with a body ---------------------------------------------------------


def test_body_and_headers_are_sent_as_they_are() -> None:
    body = b'{"a":"' + b"x" * 100_000 + b'"}'
    came = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(await reader.readexactly(len(body)))
        writer.write(WHOLE)
        await writer.drain()

    async def scene() -> None:
        async with serving(play) as server:
            headers = [("host", "a.test"), ("x-own", "1"), ("x-own", "2")]
            asking = Asking("POST", server.url("/c?d=e"), headers, body, SOON)
            reply = await ask(asking, Way())
            assert (reply.status, reply.body) == (200, b"hi")
            (head,) = server.heads
            assert head == (
                "POST /c?d=e HTTP/1.1\r\nHost: a.test\r\nX-Own: 1\r\nX-Own: 2\r\n"
                f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
            )

    run(scene())
    assert came == [body]


def test_silence_is_as_long_as_it_is_told() -> None:
    async def scene() -> None:
        async with serving(saying(OK)) as server:
            asking = Asking("POST", server.url(), [("host", "a.test")], b"{}", 0.1)
            with pytest.raises(UpstreamError):
                await ask(asking, Way())

    run(scene())


def test_without_tornado_it_loads_and_says_that_it_cannot_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "tornado":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tornado", None)
    alone = runpy.run_path(own_request.__file__)
    asking = alone["get"]("http://127.0.0.1:9/", {}, alone["Way"]())
    with pytest.raises(alone["UpstreamError"], match="cannot ask by itself"):
        asyncio.run(asking)
