"""One request of the doctor's: how it gets to the provider, and what it reads."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.doctor import http_request
from llm_normalize.doctor.http_request import ConnectError, DisconnectedError, posted
from support import LOOPBACK, server_context

type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
NAME = "provider.invalid"
"""A host that only a proxy knows."""


@dataclass
class Peer:
    """A server or a proxy on loopback, and the heads of the requests that it got."""

    answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    leads_to: int = 0
    port: int = 0
    heads: list[str] = field(default_factory=list)

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            if self.leads_to and head.startswith("CONNECT"):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await joined((reader, writer), self.leads_to)
            writer.write(self.answer)
            await writer.drain()
            writer.close()
            await writer.wait_closed()


async def joined(client: Streams, port: int) -> None:
    """Pass on what either end sends, until one of them closes."""
    server = await asyncio.open_connection(LOOPBACK, port)
    ways = ((client[0], server[1]), (server[0], client[1]))
    try:
        passing = [asyncio.ensure_future(passed_on(*way)) for way in ways]
        await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in passing:
            each.cancel()
        for _, writer in (client, server):
            writer.transport.abort()


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()


@contextlib.asynccontextmanager
async def serving(peer: Peer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    running: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(peer.serve(reader, writer))
        task.add_done_callback(lambda _: writer.transport.abort())
        running.add(task)

    server = await asyncio.start_server(begin, LOOPBACK, 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.sleep(0)


async def post(url: str, *, may_use_proxy: bool = True) -> bytes:
    async with asyncio.timeout(20):
        headers = {"authorization": "Bearer canary"}
        way = posted(url, headers, b"[]", may_use_proxy=may_use_proxy)
        async with way as response:
            assert response.status == 200
            return b"".join([each async for each in response.reads()])


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tls(provider_ca: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Return what a server of that name shows, its CA trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(provider_ca))
    return server_context(provider_ca.parent, "provider", ["http/1.1"], NAME)


def test_request_is_written_as_a_server_wants_it() -> None:
    async def work() -> None:
        async with serving(Peer()) as peer:
            await post(f"http://{LOOPBACK}:{peer.port}/v 1/é?a=b c&d=%20")
            head, *lines = peer.heads[0].rstrip().split("\r\n")
            assert head == "POST /v%201/%C3%A9?a=b%20c&d=%20 HTTP/1.1"
            assert f"host: {LOOPBACK}:{peer.port}" in map(str.lower, lines)
            assert "content-length: 2" in map(str.lower, lines)

    run(work)


def test_certificates_are_those_of_the_file_that_is_named(
    provider_ca: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = server_context(provider_ca.parent, "provider", ["http/1.1"])

    async def work() -> None:
        async with serving(Peer(), context) as peer:
            url = f"https://localhost:{peer.port}/v1"
            with pytest.raises(ConnectError, match=r"not trusted .*SSL_CERT_FILE"):
                await post(url)
            monkeypatch.setenv("SSL_CERT_FILE", str(provider_ca))
            assert await post(url) == b"{}"

    run(work)


def test_early_hints_are_no_answer() -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"

    async def work() -> None:
        async with serving(Peer(hints + Peer.answer)) as peer:
            assert await post(f"http://{LOOPBACK}:{peer.port}/v1") == b"{}"

    run(work)


@pytest.mark.parametrize("encrypted", [False, True])
def test_https_goes_through_a_tunnel_of_the_proxy(
    encrypted: bool,
    tls: ssl.SSLContext,
    provider_ca: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = server_context(provider_ca.parent, "provider", ["http/1.1"])

    async def work() -> None:
        async with (
            serving(Peer(), tls) as origin,
            serving(Peer(leads_to=origin.port), own if encrypted else None) as proxy,
        ):
            scheme = "https" if encrypted else "http"
            place = f"{scheme}://me:w%20rd@localhost:{proxy.port}"
            monkeypatch.setenv("HTTPS_PROXY", place)
            assert await post(f"https://{NAME}/v1/chat/completions") == b"{}"
            (asked,) = proxy.heads
            assert asked.startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\n")
            assert "Basic bWU6dyByZA==" in asked
            assert "canary" not in asked
            (head,) = origin.heads
            assert head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
            assert f"host: {NAME}\r\n" in head.lower()
            assert "proxy-auth" not in head.lower()

    run(work)


def test_proxy_gets_http_with_its_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with serving(Peer()) as proxy:
            monkeypatch.setenv("all_proxy", f"http://me:word@{LOOPBACK}:{proxy.port}")
            assert await post(f"http://{NAME}:81/v1") == b"{}"
            assert proxy.heads[0].startswith(f"POST http://{NAME}:81/v1 HTTP/1.1\r\n")
            assert "Basic bWU6d29yZA==" in proxy.heads[0]

    run(work)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "407 Who are you"),
        (b"", "Server disconnected without a response"),
        (b"junk\r\n\r\n", "illegal status line"),
    ],
)
def test_proxy_that_refuses_is_named_as_what_refuses(
    answer: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with serving(Peer(answer=answer)) as proxy:
            monkeypatch.setenv("https_proxy", f"http://me:word@{LOOPBACK}:{proxy.port}")
            with pytest.raises(ConnectError) as refused:
                await post(f"https://{NAME}/v1")
        said = f"the proxy does not let through to {NAME}:443: {why}"
        assert str(refused.value).startswith(said)

    run(work)


def test_proxy_where_nothing_listens_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        async with serving(Peer()) as proxy:
            pass
        monkeypatch.setenv("https_proxy", f"http://me:word@{LOOPBACK}:{proxy.port}")
        with pytest.raises(ConnectError) as refused:
            await post(f"https://{NAME}/v1")
        place = f"the proxy {LOOPBACK}:{proxy.port}"
        assert str(refused.value) == f"{place} cannot be reached: Connection refused"

    run(work)


@pytest.mark.parametrize("value", ["socks5://me:word@h:1", "http://", "word"])
def test_proxy_that_is_none_is_not_quoted(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", value)
    with pytest.raises(ConnectError) as refused:
        asyncio.run(post(f"https://{NAME}/v1"))
    assert str(refused.value).startswith("invalid variable https_proxy: expected")
    assert "word" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "spared", "uses"),
    [
        (NAME, "", True),
        (NAME, "*", False),
        (NAME, NAME, False),
        (f"api.{NAME}", f"other.example, .{NAME}", False),
        (f"api.{NAME}", NAME, False),
        (f"not{NAME}", NAME, True),
        (NAME, f"{NAME}:443", False),
        ("10.0.0.1", "10.0.0.1", False),
        ("::1", "::1", False),
    ],
)
def test_no_proxy_spares_hosts(
    host: str, spared: str, uses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", spared)
    place = http_request._Place(host, 443, is_tls=True)
    assert (http_request._proxy("https", place) is not None) is uses


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-len",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nwhat\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000,
        b"SSH-2.0-x\r\n\r\n",
    ],
)
def test_answer_that_is_none_or_half_is_said_to_be(answer: bytes) -> None:
    async def work() -> None:
        async with serving(Peer(answer=answer)) as peer:
            with pytest.raises(DisconnectedError):
                await post(f"http://{LOOPBACK}:{peer.port}/v1")

    run(work)


def test_header_that_none_can_be_is_not_quoted() -> None:
    async def work() -> None:
        async with serving(Peer()) as peer:
            url = f"http://{LOOPBACK}:{peer.port}/v1"
            way = posted(url, {"x": "a\nword"}, b"", may_use_proxy=False)
            with pytest.raises(ValueError, match="no request can have") as refused:
                async with way:
                    pass
            assert "word" not in str(refused.value)

    run(work)
