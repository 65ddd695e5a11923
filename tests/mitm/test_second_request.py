"""A second request over real sockets, with mitmproxy's own addons."""

import asyncio
import contextlib
import os
import socket
import ssl
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h2.connection
import pytest
from mitmproxy import ctx, http
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.addons.upstream_auth import UpstreamAuth
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from llm_normalize.mitm.second_request import (
    Reply,
    UpstreamError,
    drop,
    is_gone,
    replace_response,
    request_with,
    send,
)
from proxies import (
    Listening,
    Proxy,
    broken,
    chat_flow,
    connected,
    headers_of,
    response_of,
)
from support import LOOPBACK, Act, Provider, Request, Script, make_ca, server_context

type Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

LATE = "it took too long to answer"
SOON = 5.0
"""Seconds in which everything here must have ended."""
KEY = "Bearer nvapi-canary"
OK = b"HTTP/1.1 200 OK\r\n"
WHOLE = OK + b"content-length: 2\r\n\r\nhi"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
EARLY = b"HTTP/1.1 100 Continue\r\n\r\n"


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
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """mitmproxy's addons that prepare connections, and this one."""
    with Proxy(tmp_path) as made:
        made.context.master.addons.add(TlsConfig(), UpstreamAuth())
        yield made


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """See that no exception is lost in a callback, and no key in a log."""
    caplog.set_level("DEBUG")
    caplog.set_level("INFO", "hpack")
    yield
    records = caplog.get_records("call")
    lost = [each.name for each in records if each.levelname == "ERROR"]
    assert set(lost) <= {"mitmproxy.addonmanager"}  # of a file that cannot be read
    assert not [each for each in records if "canary" in each.getMessage()]


def flow_to(url: str, *, via: Any = None, sni: str | None = None) -> http.HTTPFlow:
    """Return a flow whose first request went to *url*; *via* is a proxy's scheme and port.

    The server's certificate had the name *sni*.
    """
    made = tflow.tflow()
    made.request = http.Request.make(
        "GET", url, headers=http.Headers(authorization=KEY)
    )
    made.request.headers["host"] = "there"
    del made.request.headers["content-length"]
    made.server_conn.address = made.request.host, made.request.port
    made.server_conn.via = via and (via[0], (LOOPBACK, via[1]))
    made.server_conn.sni = sni
    made.server_conn.alpn = None
    if via:
        made.client_conn.proxy_mode = ProxyMode.parse(f"upstream:{via[0]}://{LOOPBACK}")
        is_plain = made.request.scheme == "http"
        place = f"{made.request.host}:{made.request.port}"
        made.request.authority = place if is_plain else ""
    return made


async def reply_to(made: http.HTTPFlow, silence: float = SOON) -> Reply:
    return await send(made, made.request, silence)


async def failure_of(made: http.HTTPFlow, silence: float = SOON) -> str:
    """Return why there is no reply, without the URL."""
    with pytest.raises(UpstreamError) as caught:
        await reply_to(made, silence)
    assert "canary" not in str(caught.value)
    place, _, why = str(caught.value).partition(": ")
    assert f"{made.request.scheme}://" in place
    return why


def fetched(
    answer: bytes | Play, path: str = "/r", silence: float = SOON, **more: Any
) -> tuple[Reply, Server]:
    """Return what a server that answers so is understood to say."""

    async def scene() -> tuple[Reply, Server]:
        async with serving(answer, **more) as server:
            return await reply_to(flow_to(server.url(path)), silence), server

    return run(scene())


def refused(
    answer: bytes | Play, scheme: str = "http", silence: float = SOON, **more: Any
) -> str:
    """Return why there is no reply from a server that answers so."""

    async def scene() -> str:
        async with serving(answer, **more) as server:
            return await failure_of(flow_to(server.url(scheme=scheme)), silence)

    return run(scene())


# -- requests ----------------------------------------------------------------------


def test_request_is_sent_as_it_is() -> None:
    _, server = fetched(WHOLE, path="/a%2Fb?c=d")
    assert server.heads == [
        f"GET /a%2Fb?c=d HTTP/1.1\r\nauthorization: {KEY}\r\nhost: there\r\n\r\n"
    ]


def test_other_request_is_the_first_one_but_for_its_body() -> None:
    made = chat_flow()
    made.request.headers.fields = (
        (b"Host", b"kept.test"),
        (b"Authorization", b"Bearer \xc3\xbc\xff"),
        (b"X-Own", b"1"),
        (b"X-Own", b"2"),
        (b"Connection", b"X-Hop"),
        (b"X-Hop", b"1"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Content-Length", b"999"),
        (b"Content-Type", b"application/json"),
        (b"Accept-Encoding", b"br"),
        (b"Content-Encoding", b"gzip"),
        (b"Expect", b"100-continue"),
        (b"Proxy-Authorization", b"Basic x"),
    )
    made.request.trailers = http.Headers(x="y")
    other = request_with(made, b"{}")
    assert other.headers.fields == (
        (b"Host", b"kept.test"),
        (b"Authorization", b"Bearer \xc3\xbc\xff"),
        (b"X-Own", b"1"),
        (b"X-Own", b"2"),
        (b"Content-Type", b"application/json"),
        (b"accept-encoding", b"identity"),
        (b"content-length", b"2"),
    )
    assert (other.method, other.url) == (made.request.method, made.request.url)
    assert (other.raw_content, other.trailers) == (b"{}", None)
    assert len(made.request.headers.fields) == 13


@pytest.mark.parametrize(
    ("mode", "via", "scheme", "stays"),
    [
        ("upstream:http://p.test", True, "http", True),
        ("upstream:http://p.test", True, "https", False),
        ("upstream:http://p.test", False, "http", False),
        ("regular", True, "http", False),
    ],
)
def test_password_for_the_proxy_goes_to_the_proxy_alone(
    mode: str, via: bool, scheme: str, stays: bool
) -> None:
    made = chat_flow()
    made.request.scheme = scheme
    made.request.headers["proxy-authorization"] = "Basic x"
    made.client_conn.proxy_mode = ProxyMode.parse(mode)
    made.server_conn.via = ("http", ("p.test", 8080)) if via else None
    assert ("proxy-authorization" in request_with(made, b"").headers) is stays


def test_proxy_does_not_connect_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> str:
        async with serving(WHOLE) as server:
            made = flow_to(server.url())
            proxy = ctx.master.addons.get("proxyserver")
            listening = Listening((LOOPBACK, server.port))
            monkeypatch.setattr(proxy, "servers", [listening])
            return await failure_of(made)

    assert run(scene())


# -- the client, and the place of the answer ---------------------------------------


def test_client_that_has_left_is_gone_unless_it_is_a_replay() -> None:
    made = chat_flow()
    assert not is_gone(made)
    broken(made, "Client disconnected.", connected=False)
    assert is_gone(made)
    made.is_replay = "request"
    assert not is_gone(made)


def test_reply_takes_the_place_of_the_answer() -> None:
    made = chat_flow(status=400)
    given = [
        ("Content-Type", "a/b"),
        ("Connection", "close, X-Hop"),
        ("Connection", "Y"),
        ("X-Hop", "1"),
        ("Y", "1"),
        ("Keep-Alive", "5"),
    ]
    replace_response(response_of(made), Reply(200, "", given, b"{}"))
    assert (response_of(made).status_code, response_of(made).reason) == (200, "OK")
    assert headers_of(made) == {"content-type": "a/b", "content-length": "2"}
    assert response_of(made).raw_content == b"{}"


# -- replies -----------------------------------------------------------------------

REPLIES = {
    "content-length": (WHOLE, 200, b"hi"),
    "no-body": (b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", 500, b""),
    "chunked": (CHUNKED + b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", 200, b"hi"),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "304": (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, b""),
    "kept-alive-1.0": (b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi", 200, b"hi"),
    "more-than-was-said": (WHOLE + b"garbage", 200, b"hi"),
    "100": (EARLY + WHOLE, 200, b"hi"),
    "100-garbage": (EARLY + WHOLE + b"more", 200, b"hi"),
    "102-103": (
        b"HTTP/1.1 102 Processing\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + WHOLE,
        200,
        b"hi",
    ),
    "100-chunked": (EARLY + CHUNKED + b"2\r\nhi\r\n0\r\n\r\n", 200, b"hi"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_reply_is_read_while_the_server_keeps_the_connection(name: str) -> None:
    data, status, body = REPLIES[name]
    single = [part for byte in data for part in (bytes([byte]), 0.0)]
    for parts in ([data], single):
        reply, server = fetched(saying(*parts))
        assert (reply.status, reply.body) == (status, body)
        assert "link" not in {name.lower() for name, _ in reply.headers}
        assert server.gone == 1


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
@pytest.mark.parametrize("before", ["", "HTTP/1.1 103 Early Hints\r\n\r\n"])
@pytest.mark.parametrize("body", [b"", b"all of it"])
def test_reply_may_end_with_the_connection(
    version: str, before: str, body: bytes
) -> None:
    head = f"{before}{version} 200 OK\r\nx: y\r\n\r\n".encode()
    reply, _ = fetched(saying(head, 0.01, body, end=True))
    assert (reply.status, reply.body) == (200, body)


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
def test_half_a_reply_is_none(data: bytes, play: Callable[[bytes], Play]) -> None:
    assert refused(play(data))


def test_reset_is_not_the_end_of_a_reply() -> None:
    # Without a length, mitmproxy takes it for one.
    assert "closed the connection" in refused(resetting(OK + b"\r\nhalf"))


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"content-length: many\r\n\r\nhi",
        OK + b"content-length: -2\r\n\r\nhi",
        OK + b"content-length: 2, 3\r\n\r\nhi",
        OK + b"x: " + b"y" * 140_000 + b"\r\n\r\n",
        CHUNKED + b"many\r\nhi\r\n0\r\n\r\n",
        CHUNKED + b"2\r\nhi!!0\r\n\r\n",
        CHUNKED + b"0\r\nx: y\r\n\r\n",
        CHUNKED + b"9" * 200 + b"\r\n",
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
def test_body_has_a_limit(proxy: Proxy, framing: str) -> None:
    proxy.set(body_size_limit="1000")
    reply, _ = fetched(framings(1000)[framing])
    assert reply.body == b"x" * 1000
    assert refused(framings(1001)[framing]) == "its answer is too large"


def test_header_that_could_smuggle_is_refused_as_mitmproxy_does(proxy: Proxy) -> None:
    answer = OK + b"a b: c\r\ncontent-length: 2\r\n\r\nhi"
    assert refused(answer) == "it answered with invalid HTTP"
    proxy.set(validate_inbound_headers=False)
    assert fetched(answer)[0].body == b"hi"


def test_connection_refused_is_an_error() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
    made = flow_to(f"http://{LOOPBACK}:{port}/")
    assert run(failure_of(made)) == "it refused the connection"


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
def test_server_that_says_nothing_more_is_given_up(play: Play) -> None:
    assert refused(play, silence=0.1) == LATE


async def cancelled(made: http.HTTPFlow) -> None:
    task = asyncio.create_task(reply_to(made))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("via", [None, "http", "https"])
def test_what_is_cancelled_closes_its_connection(scheme: str, via: str | None) -> None:
    async def scene() -> int:
        async with serving(saying(), silent=True) as server:
            proxy = via and (via, server.port)
            await cancelled(flow_to(server.url(scheme=scheme), via=proxy))
        return server.gone

    assert run(scene()) == 1


# -- TLS ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_ca(tmp_path_factory.mktemp("ca"), "test")


@pytest.fixture(scope="module")
def tls(ca: Path) -> ssl.SSLContext:
    return server_context(ca.parent, "test", ["http/1.1"])


def trusting(proxy: Proxy, ca: Path) -> None:
    proxy.set(ssl_verify_upstream_trusted_ca=str(ca))


def secured(context: ssl.SSLContext, sni: str | None = None) -> bytes:
    """Return the body that comes over TLS."""

    async def scene() -> bytes:
        async with serving(WHOLE, context=context) as server:
            reply = await reply_to(flow_to(server.url(scheme="https"), sni=sni))
        assert server.gone == 1
        return reply.body

    return run(scene())


def distrusted(context: ssl.SSLContext, sni: str | None = None) -> str:
    """Return why nothing is asked over TLS."""

    async def scene() -> str:
        async with serving(WHOLE, context=context) as server:
            why = await failure_of(flow_to(server.url(scheme="https"), sni=sni))
            await asyncio.sleep(0.02)
        assert server.heads == []
        return why

    return run(scene())


def test_ca_file_is_trusted(proxy: Proxy, ca: Path, tls: ssl.SSLContext) -> None:
    trusting(proxy, ca)
    assert secured(tls) == b"hi"


def test_others_are_trusted_on_demand_alone(proxy: Proxy, tls: ssl.SSLContext) -> None:
    assert distrusted(tls).startswith("its certificate is from an unknown CA (")
    proxy.set(ssl_insecure=True)
    assert secured(tls, "wrong.test") == b"hi"


def test_certificate_must_have_the_name_that_the_first_one_had(
    proxy: Proxy, ca: Path, tls: ssl.SSLContext
) -> None:
    # A transparent proxy knows an address, and the name from the client's TLS.
    trusting(proxy, ca)
    assert secured(tls, "localhost") == b"hi"
    assert distrusted(tls, "wrong.test") == (
        "its certificate is invalid (hostname mismatch)"
    )


def test_another_host_has_to_prove_its_own_name(
    proxy: Proxy, ca: Path, tls: ssl.SSLContext
) -> None:
    trusting(proxy, ca)

    async def scene() -> bytes:
        async with serving(WHOLE, context=tls) as server:
            made = flow_to("https://192.0.2.7/", sni="wrong.test")
            other = made.request.copy()
            other.host, other.port = LOOPBACK, server.port
            return (await send(made, other, SOON)).body

    assert run(scene()) == b"hi"


def test_server_that_had_to_prove_its_name_has_to_again(
    proxy: Proxy, ca: Path, tls: ssl.SSLContext
) -> None:
    async def scene() -> tuple[bytes, str, int]:
        async with serving(WHOLE, context=tls) as server:
            made = flow_to(server.url(scheme="https"), sni="localhost")
            connected(made, sni="localhost")
            proxy.set(ssl_verify_upstream_trusted_ca=str(ca))
            reply = await reply_to(made)
            proxy.set(ssl_insecure=True)
            why = await failure_of(made)
        return reply.body, why, len(server.heads)

    why = "its certificate is invalid (it was not verified)"
    assert run(scene()) == (b"hi", why, 1)


# -- HTTP/2 ------------------------------------------------------------------------


def greet(made: h2.connection.H2Connection, stream: int) -> None:
    made.send_headers(stream, [(":status", "103"), ("link", "</a>")])
    made.send_headers(stream, [(":status", "200"), ("x", "y")])
    made.send_data(stream, b"h")
    made.send_data(stream, b"i")
    made.send_headers(stream, [("x-trailer", "z")], end_stream=True)


def asked_by_http2(
    act: Act, ca: Path, made: http.HTTPFlow
) -> tuple[list[Request], Any]:
    """Return what a server that acts so gets, and its reply or why there is none."""
    context = server_context(ca.parent, "test", ["h2", "http/1.1"])
    acting = Script("", [act], framing="raw")

    async def scene(server: Provider) -> Any:
        made.request.data.port = server.port
        made.server_conn.alpn = b"h2"
        try:
            return await reply_to(made, 0.5)
        except UpstreamError as error:
            return str(error).partition(": ")[2]

    with Provider(context, answer=lambda _: acting) as server:
        reply = run(scene(server))
        assert server.protocols == ["h2"]
        end = time.monotonic() + SOON
        while server.connections:
            assert time.monotonic() < end, "a connection stayed open"
            time.sleep(0.01)
        return server.requests, reply


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2.0"])
def test_http2_is_spoken_where_the_first_request_spoke_it(
    proxy: Proxy, ca: Path, version: str
) -> None:
    trusting(proxy, ca)
    made = flow_to(f"https://{LOOPBACK}/r")
    made.request.http_version = version
    if made.request.is_http2:
        made.request.headers.pop("host")
        made.request.authority = "there"
    made.request.content = b"x" * 100_000
    (asked,), reply = asked_by_http2(greet, ca, made)
    assert asked.headers == {
        ":method": "GET",
        ":scheme": "https",
        ":path": "/r",
        ":authority": "there",
        "authorization": KEY,
        "content-length": "100000",
    }
    assert asked.body == made.request.content
    assert reply == Reply(200, "", [("x", "y")], b"hi")


def half(made: h2.connection.H2Connection, stream: int) -> None:
    made.send_headers(stream, [(":status", "200")])
    made.send_data(stream, b"h")
    made.reset_stream(stream)


def leave(made: h2.connection.H2Connection, _: int) -> None:
    made.close_connection()


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (half, "it aborted the request"),
        (leave, "it aborted the request"),
        (lambda *_: None, LATE),
    ],
)
def test_reply_by_http2_that_breaks_off_is_none(
    proxy: Proxy, ca: Path, act: Act, why: str
) -> None:
    trusting(proxy, ca)
    assert asked_by_http2(act, ca, flow_to(f"https://{LOOPBACK}/r"))[1] == why


@pytest.mark.parametrize(("version", "alpn"), [("HTTP/2.0", b"h2"), ("HTTP/3", b"h3")])
def test_server_that_speaks_only_http1_now_is_asked_by_it(
    proxy: Proxy, ca: Path, tls: ssl.SSLContext, version: str, alpn: bytes
) -> None:
    trusting(proxy, ca)

    async def scene() -> tuple[Reply, Server]:
        async with serving(WHOLE, context=tls) as server:
            made = flow_to(server.url(scheme="https"))
            made.request.http_version = version
            made.request.headers.pop("host")
            made.request.authority = "there"
            made.server_conn.alpn = alpn
            return await reply_to(made), server

    reply, server = run(scene())
    assert reply.body == b"hi"
    assert fields_of(server.heads[0]) == {"host": "there", "authorization": KEY}


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


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_http_goes_through_the_proxy_in_absolute_form(
    proxy: Proxy, ca: Path, tls: ssl.SSLContext, scheme: str
) -> None:
    trusting(proxy, ca)

    async def scene() -> Server:
        context = tls if scheme == "https" else None
        async with serving(WHOLE, context=context) as upstream:
            made = flow_to("http://there.test:81/a?b=c", via=(scheme, upstream.port))
            assert (await reply_to(made)).body == b"hi"
        return upstream

    (head,) = run(scene()).heads
    assert head.startswith("GET http://there.test:81/a?b=c HTTP/1.1\r\n")
    assert fields_of(head) == {"host": "there", "authorization": KEY}


@pytest.mark.parametrize(
    ("auth", "scheme", "answer"),
    [
        (None, "http", b"HTTP/1.1 200 Connection established\r\n\r\n"),
        ("u:p", "https", b"HTTP/1.0 200 OK\r\nvia: x\r\n\r\n"),
        ("u:p", "http", b"HTTP/1.1 204 No Content\r\n\r\n"),
    ],
)
def test_https_goes_through_a_tunnel(
    proxy: Proxy,
    ca: Path,
    tls: ssl.SSLContext,
    auth: str | None,
    scheme: str,
    answer: bytes,
) -> None:
    trusting(proxy, ca)
    proxy.set(upstream_auth=auth)

    async def scene() -> tuple[Server, Server]:
        async with (
            serving(WHOLE, context=tls) as server,
            serving(
                tunnel(answer, server.port), context=tls if scheme == "https" else None
            ) as upstream,
        ):
            url = f"https://there.test:{server.port}/r"
            made = flow_to(url, via=(scheme, upstream.port), sni="localhost")
            assert (await reply_to(made)).body == b"hi"
        return server, upstream

    server, upstream = run(scene())
    place = f"there.test:{server.port}"
    assert upstream.heads[0].startswith(f"CONNECT {place} HTTP/1.1\r\n")
    given = {"proxy-authorization": "Basic dTpw"} if auth else {}
    assert fields_of(upstream.heads[0]) == {"host": place, **given}
    assert server.heads[0].startswith("GET /r HTTP/1.1\r\n")
    assert fields_of(server.heads[0]) == {"host": "there", "authorization": KEY}


def test_proxy_that_speaks_tls_has_to_prove_its_name(tls: ssl.SSLContext) -> None:
    async def scene(url: str) -> tuple[str, list[str]]:
        async with serving(WHOLE, context=tls) as upstream:
            why = await failure_of(flow_to(url, via=("https", upstream.port)))
        return why, upstream.heads

    for url in ("http://there.test/", "https://there.test/"):
        why, heads = run(scene(url))
        assert why.startswith("its certificate is from an unknown CA (")
        assert heads == []


def test_plain_http_goes_through_a_tunnel_where_only_an_addon_wants_a_proxy() -> None:
    answer = b"HTTP/1.1 200 OK\r\n\r\n"

    async def scene() -> tuple[str, str]:
        async with (
            serving(WHOLE) as server,
            serving(tunnel(answer, server.port)) as upstream,
        ):
            made = flow_to("http://there.test/", via=("http", upstream.port))
            made.client_conn.proxy_mode = ProxyMode.parse("regular")
            made.request.authority = ""
            assert (await reply_to(made)).body == b"hi"
        return upstream.heads[0], server.heads[0]

    first, second = run(scene())
    assert first.startswith("CONNECT there.test:80 HTTP/1.1\r\n")
    assert second.startswith("GET / HTTP/1.1\r\n")


def through(answer: bytes | Play) -> str:
    """Return why there is no tunnel through a proxy that answers so."""

    async def scene() -> str:
        async with serving(answer) as upstream:
            made = flow_to("https://there.test/", via=("http", upstream.port))
            why = await failure_of(made)
        assert KEY not in "".join(upstream.heads)
        return why

    return run(scene())


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0 200 hello\r\n\r\n",
        saying(end=True),
        saying(b"HTTP/1.1 200 OK\r\n", end=True),
        resetting(b""),
        saying(b"HTTP/1.1 200 OK\r\n\r\n", 0.1, b"SSH-2.0-OpenSSH_9.6\r\n"),
    ],
)
def test_proxy_that_talks_nonsense_is_an_error(answer: bytes | Play) -> None:
    assert through(answer)


# -- replies that are read as they arrive --------------------------------------------

EVENTS = CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-type: text/event-stream\r\n\r\n")
TICK = b"9\r\ndata: 1\n\n\r\n"
END = b"0\r\n\r\n"


async def live_reply(made: http.HTTPFlow, silence: float = SOON) -> Reply:
    return await send(made, made.request, silence, live=True)


def read_live(
    answer: Play, silence: float = SOON
) -> tuple[list[bytes], str, Reply, Server]:
    """Return the parts of a stream as they are read, and why it is not complete."""

    async def scene() -> tuple[list[bytes], str, Reply, Server]:
        found, why = list[bytes](), ""
        async with serving(answer) as server:
            reply = await live_reply(flow_to(server.url()), silence)
            assert reply.live_body is not None
            try:
                async for part in reply.live_body:
                    found.append(part)
            except UpstreamError as error:
                why = str(error).removeprefix(f"http://{LOOPBACK}:{server.port}: ")
            await reply.live_body.close()
        return found, why, reply, server

    return run(scene())


def test_stream_of_events_is_read_as_it_arrives() -> None:
    play = saying(EARLY + EVENTS, 0.05, TICK, 0.05, TICK, END)
    found, why, reply, server = read_live(play)
    assert (reply.status, reply.body, why) == (200, b"", "")
    assert b"".join(found) == b"data: 1\n\n" * 2
    assert len(found) >= 2  # not collected
    assert server.gone == 1


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (saying(EVENTS, TICK, 0.05, end=True), "it closed the connection before its answer was whole"),
        (resetting(EVENTS + TICK), "it closed the connection before its answer was whole"),
        (saying(EVENTS, TICK), "it fell silent"),
    ],
)  # fmt: skip
def test_broken_stream_says_why_after_what_arrived(play: Play, why: str) -> None:
    found, said, _, server = read_live(play, silence=0.3)
    assert (found, said) == ([b"data: 1\n\n"], why)
    assert server.gone == 1


@pytest.mark.parametrize(
    "answer",
    [WHOLE, EVENTS.replace(b"200 OK", b"503 Busy") + TICK + END],
    ids=["no events", "refusal"],
)
def test_any_other_reply_is_collected_all_the_same(answer: bytes) -> None:
    async def scene() -> Reply:
        async with serving(answer) as server:
            return await live_reply(flow_to(server.url()))

    reply = run(scene())
    assert reply.live_body is None
    assert reply.body in (b"hi", b"data: 1\n\n")


def test_live_reply_that_nobody_wants_is_closed() -> None:
    async def scene() -> Server:
        async with serving(saying(EVENTS, TICK)) as server:
            await drop(None)
            await drop(Reply())
            await drop(await live_reply(flow_to(server.url())))
        return server

    assert run(scene()).gone == 1
