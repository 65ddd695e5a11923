"""The clients of a soak: sessions over HTTP/1 and HTTP/2, some of them ill-behaved."""

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from workshop import LOOPBACK
from workshop.mitmdump import Place
from workshop.soak.judge import Seen
from workshop.soak.plan import KEY, Plan, Session, plan
from workshop.traffic.client import Answer, Client, connect
from workshop.traffic.http1 import FramingError
from workshop.traffic.http2 import Reply

PATIENCE = 60.0
"""Seconds that an answer may take."""
_SIP = 200
_PAUSE = 0.05
_DAWDLED = 40_000
"""Bytes that a slow client takes slowly; the rest would take minutes."""
_STALE = ("length too small", "reset after the end")
"""mitmproxy may ask the next question on a connection to the provider that is being reset,
or where there is more of an answer than its length says."""


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
    if session.client == "h2":
        async with await _connect(session, places) as client:
            await asyncio.gather(*(_ask(client, due, report) for due in plans))
        return
    keeps = False
    for due in plans:
        if not keeps:
            client = await _connect(session, places)
        keeps = await _ask(client, due, report) and due is not plans[-1]
        if not keeps:
            await client.close()


async def _connect(session: Session, places: Places) -> Client:
    if session.client == "plain":
        return await connect(places.reverse)
    tunnel = f"{LOOPBACK}:{places.upstream[session.upstream]}"
    context = places.trusts[session.client]
    return await connect(places.regular, tunnel, context, window=session.window)


async def _ask(client: Client, due: Plan, report: Report) -> bool:
    """Send a request and report; tell whether the next can go the same way."""
    seen = Seen(asked=time.monotonic())
    headers = {"authorization": f"Bearer {KEY}"}
    is_old = due.version == "HTTP/1.0"
    if is_old:
        headers["connection"] = "close"
    answer = client.ask(due.path, due.body, headers, due.version)
    try:
        async with asyncio.timeout(PATIENCE):
            await _receive(due, answer, seen)
    except FramingError as error:
        seen.error = f"it is no HTTP: {error}"
    except TimeoutError:
        seen.error = f"it did not end in {PATIENCE:g} s"
    answer.leave()
    seen.status, seen.headers, seen.clean = answer.status, answer.headers, answer.done
    seen.tells = isinstance(answer, Reply) or answer.framing != "close"
    seen.ended = time.monotonic()
    report(due, seen)
    keeps = isinstance(answer, Answer) and answer.keeps and not seen.error
    return keeps and due.transfer.fault not in _STALE and not is_old


async def _receive(due: Plan, answer: Answer | Reply, seen: Seen) -> None:
    """Take the answer up to its end, or to where the client disconnects."""
    if due.disconnect in ("at once", "before the head"):
        if due.disconnect == "before the head":
            await asyncio.sleep(0.02)
        seen.left = True
        return
    while True:
        slow = due.slow and len(seen.body) < _DAWDLED
        data = await (answer.read(_SIP) if slow else answer.read())
        if not data:
            return
        seen.body += data
        if due.disconnect and len(seen.body) >= due.disconnects_at and not answer.done:
            seen.left = True
            return
        if slow:
            await asyncio.sleep(_PAUSE)
