"""The clients of a soak: sessions over HTTP/1 and HTTP/2, some of them ill-behaved."""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from workshop.mitmdump import Place
from workshop.soak.judge import Seen
from workshop.soak.plan import KEY, Plan, Session, plan
from workshop.traffic import http2
from workshop.traffic.http1 import FramingError, ResponseReader
from workshop.traffic.process import HOST

PATIENCE = 60.0
"""Seconds that an answer may take."""
_SIP = 200
_PAUSE = 0.05
_DAWDLED = 40_000
"""Bytes that a slow client takes slowly; the rest would take minutes."""


@dataclass(frozen=True)
class Places:
    """Where the proxy and the provider are.

    Attributes:
        reverse: The reverse proxy.
        regular: The regular proxy.
        upstream: The provider's ports, by what it speaks there.
        trusts: TLS settings of clients, for HTTP/1.1 and for HTTP/2.
    """

    reverse: Place
    regular: Place
    upstream: dict[str, int]
    trusts: dict[str, ssl.SSLContext]


type Report = Callable[[Plan, Seen], None]


async def run_session(
    seed: int, session: Session, places: Places, report: Report
) -> None:
    """Send the requests of *session*, and report how each ended."""
    plans = [plan(seed, n) for n in session.numbers]
    runs = _run_http2 if session.client == "h2" else _run_http1
    await runs(session, plans, places, report)


async def _connect(
    session: Session, places: Places
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if session.client == "plain":
        return await asyncio.open_connection(*places.reverse)
    loop = asyncio.get_running_loop()
    raw = socket.socket()
    try:
        raw.setblocking(False)
        await loop.sock_connect(raw, places.regular)
        target = f"{HOST}:{places.upstream[session.upstream]}"
        ask = f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\r\n"
        await loop.sock_sendall(raw, ask.encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            # One byte at a time: what follows belongs to TLS.
            byte = await loop.sock_recv(raw, 1)
            if not byte:
                break
            head += byte
        _expect_tunnel(head)
        context = places.trusts[session.client]
        return await asyncio.open_connection(
            sock=raw, ssl=context, server_hostname="localhost"
        )
    except BaseException:
        raw.close()
        raise


def _expect_tunnel(head: bytes) -> None:
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise ConnectionError(f"CONNECT was refused: {head!r}")


def _fields(due: Plan) -> dict[str, str]:
    fields = {"authorization": f"Bearer {KEY}"}
    if due.body:
        fields |= {"content-type": "application/json", "content-length": str(len(due.body))}  # fmt: skip
    return fields


# -- HTTP/1 -----------------------------------------------------------------------------


async def _run_http1(
    session: Session, plans: list[Plan], places: Places, report: Report
) -> None:
    writer = None
    for due in plans:
        if writer is None:
            reader, writer = await _connect(session, places)
        seen = Seen(asked=time.monotonic())
        reply = ResponseReader()
        try:
            async with asyncio.timeout(PATIENCE):
                await _ask(due, writer)
                await _receive(due, reader, reply, seen)
        except FramingError as error:
            seen.error = f"it is no HTTP: {error}"
        except TimeoutError:
            seen.error = f"it did not end in {PATIENCE:g} s"
        except OSError:  # reset
            pass
        seen.status, seen.headers = reply.status, reply.headers
        seen.clean, seen.tells = reply.done, reply.framing != "close"
        seen.ended = time.monotonic()
        report(due, seen)
        # mitmproxy may ask the next question on a connection to the provider that is being
        # reset, or where there is more of an answer than its length says.
        stale = due.transfer.fault in ("length too small", "reset after the end")
        if not reply.keeps or seen.error or stale or due.version == "HTTP/1.0":
            writer.close()
            writer = None
    if writer is not None:
        writer.close()


async def _ask(due: Plan, writer: asyncio.StreamWriter) -> None:
    lines = [f"{'POST' if due.body else 'GET'} {due.path} {due.version}"]
    lines += ["host: localhost"]
    lines += [f"{name}: {value}" for name, value in _fields(due).items()]
    if due.version == "HTTP/1.0":
        lines.append("connection: close")
    data = "\r\n".join([*lines, "", ""]).encode() + due.body
    if due.dribbles:
        for at in range(0, len(data), _SIP):
            writer.write(data[at : at + _SIP])
            await asyncio.sleep(_PAUSE / 10)
    else:
        writer.write(data)
    await writer.drain()


async def _receive(
    due: Plan, reader: asyncio.StreamReader, reply: ResponseReader, seen: Seen
) -> None:
    """Take the answer up to its end, or to where the client disconnects."""
    if due.disconnect in ("at once", "before the head"):
        if due.disconnect == "before the head":
            await asyncio.sleep(0.02)
        seen.left = True
        return
    while not reply.done:
        slow = due.slow and len(seen.body) < _DAWDLED
        data = await reader.read(_SIP if slow else 65536)
        if not data:
            reply.end()
            return
        seen.body += reply.feed(data)
        if due.disconnect and len(seen.body) >= due.disconnects_at and not reply.done:
            seen.left = True
            return
        if slow:
            await asyncio.sleep(_PAUSE)


# -- HTTP/2 -----------------------------------------------------------------------------


async def _run_http2(
    session: Session, plans: list[Plan], places: Places, report: Report
) -> None:
    client = http2.Client(*await _connect(session, places), session.window)
    try:
        await asyncio.gather(*(_one_http2(client, due, report) for due in plans))
    finally:
        await client.close()


async def _one_http2(client: http2.Client, due: Plan, report: Report) -> None:
    seen = Seen(asked=time.monotonic())
    head = [(":method", "POST" if due.body else "GET"), (":scheme", "https")]
    head += [(":authority", "localhost"), (":path", due.path)]
    stream, reply = client.ask([*head, *_fields(due).items()], due.body)
    try:
        async with asyncio.timeout(PATIENCE):
            await _receive_http2(client, stream, reply, due, seen)
    except TimeoutError:
        seen.error = f"it did not end in {PATIENCE:g} s"
    if seen.left or seen.error:
        client.cancel(stream)
    client.forget(stream)
    seen.status, seen.headers, seen.clean = reply.status, reply.headers, reply.done
    seen.ended = time.monotonic()
    report(due, seen)


async def _receive_http2(
    client: http2.Client, stream: int, reply: http2.Reply, due: Plan, seen: Seen
) -> None:
    if due.disconnect in ("at once", "before the head"):
        if due.disconnect == "before the head":
            await asyncio.sleep(0.02)
        seen.left = True
        return
    while (news := await reply.news.get()) is not None:
        data, weight = news
        seen.body += data
        if due.disconnect and len(seen.body) >= due.disconnects_at:
            seen.left = True
            return
        if due.slow and len(seen.body) < _DAWDLED:
            await asyncio.sleep(_PAUSE)
        client.acknowledge(stream, weight)
