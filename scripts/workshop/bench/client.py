"""The client of the benchmark: it asks two proxies for the same streams at once."""

import asyncio
import contextlib
import http
import os
import ssl
import time
from collections.abc import Sequence
from typing import NamedTuple

from workshop import LOOPBACK
from workshop.bench.provider import GAP
from workshop.bench.sides import check
from workshop.bench.traffic import HEADER, PATH, Form, Plan, expected, text_of
from workshop.child import ChildError
from workshop.traffic.client import Client, connect, rest
from workshop.traffic.http1 import FramingError
from workshop.traffic.memory import settle
from workshop.traffic.process import Mitmdump

PATIENCE = 60.0  # seconds for a stream
STAGGER = 2.382 * GAP
"""Seconds between the beginnings of two streams: the golden ratio keeps events apart."""
LATE = 5  # gaps between events; what ends later than that has fallen behind


class Party(NamedTuple):
    """One of those that are compared.

    Attributes:
        name: What errors call it.
        proxy: The proxy that it asks.
        form: What has to arrive.
    """

    name: str
    proxy: Mitmdump
    form: Form


class Used(NamedTuple):
    """What a party's proxy took for a load.

    Attributes:
        us: Microseconds of CPU time per event.
        kept_up: Whether it forwarded nine streams of ten as fast as they arrived.
    """

    us: float
    kept_up: bool


class Stream:
    """One stream.

    Args:
        plan: What is asked for.
        party: By whom.
        tunnel: The provider's port, which is reached by CONNECT; 0 in reverse mode.
        trusted: The TLS settings in the tunnel.

    Attributes:
        fault: Why it is not what had to arrive, as a sentence's end; empty for none.
        took: Seconds from the request to the end.
        party: By whom it is asked for.
    """

    def __init__(
        self, plan: Plan, party: Party, tunnel: int, trusted: ssl.SSLContext
    ) -> None:
        self.fault = ""
        self.took = 0.0
        self.party = party
        self._plan = plan
        self._wanted = expected(plan, party.form)  # now: it takes its time
        self._body = b""
        self._way = (f"{LOOPBACK}:{tunnel}", trusted) if tunnel else ()
        self._client: Client | None = None

    async def connect(self) -> Client:
        """Connect, which is done once."""
        if self._client is None:
            place = self.party.proxy.places[0]
            self._client = await connect(place, *self._way, name=LOOPBACK)
        return self._client

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.close()

    async def run(self) -> None:
        """Ask for it, and take what arrives."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._ask(await self.connect())
        except FramingError as error:
            self.fault = f"got no HTTP: {error}"
        except OSError as error:  # a timeout is one
            self.fault = f"got no answer: {error!r}"

    async def _ask(self, client: Client) -> None:
        started = time.monotonic()
        headers = {"authorization": "Bearer bench", HEADER: self._plan.header()}
        answer = client.ask(PATH, self._plan.request(), headers)
        self._body = await rest(answer)
        self.took = time.monotonic() - started
        if answer.status != http.HTTPStatus.OK:
            self.fault = f"was refused: {answer.status} {self._body[:300]!r}"
        elif not answer.done:
            self.fault = "broke off"

    def verify(self) -> None:
        """See that it is what had to arrive."""
        is_text = self.party.form == "text"
        found = text_of(self._body) if is_text else self._body
        if self.fault or found in self._wanted:
            return
        wanted = self._wanted[0]
        at = len(os.path.commonprefix([found, wanted]))  # noqa: RUF071 - bytes
        what = "text" if is_text else "bytes"
        self.fault = (
            f"has other {what} than it must have: {found[at : at + 80]!r} "
            f"instead of {wanted[at : at + 80]!r}, after {at} bytes"
        )


def run(
    parties: Sequence[Party],
    plans: Sequence[Plan],
    trusted: ssl.SSLContext,
    tunnel: int = 0,
) -> list[Used]:
    """Ask each party for streams of *plans*, by turns; return what each took.

    Through a tunnel the connections are there before: clients keep those with TLS.

    Raises:
        ChildError: A stream did not arrive as it had to, or a proxy met a bug.
    """
    streams = [
        Stream(plan._replace(seed=2 * plan.seed + turn), party, tunnel, trusted)
        for plan in plans
        for turn, party in enumerate(parties)
    ]
    pids = [party.proxy.pid for party in parties]
    before, after = asyncio.run(_run(streams, pids, early=bool(tunnel)))
    found = []
    for party, early, late in zip(parties, before, after, strict=True):
        own = [stream for stream in streams if stream.party is party]
        verify(party, own)
        events = plans[0].events
        # Not the last one: a pause that hits one stream is no load that is too high.
        took = sorted(stream.took for stream in own)[len(own) * 9 // 10]
        us = (late - early) / (events * len(own)) * 1e6
        found.append(Used(us, took <= (events + LATE) * GAP))
    return found


async def _run(
    streams: Sequence[Stream], pids: Sequence[int], *, early: bool
) -> tuple[list[float], list[float]]:
    """Run the streams, connected *early* or as each begins.

    Returns:
        The CPU time of each of *pids* before and after.
    """
    try:
        for stream in streams if early else ():
            with contextlib.suppress(OSError):  # tried again, and reported
                await stream.connect()
        before = settle(pids)
        running = []
        start = time.monotonic()
        for number, stream in enumerate(streams):
            await asyncio.sleep(start + number * STAGGER - time.monotonic())
            running.append(asyncio.create_task(stream.run()))
        await asyncio.gather(*running)
        return before, settle(pids)
    finally:
        await asyncio.gather(*(stream.close() for stream in streams))


def verify(party: Party, streams: Sequence[Stream]) -> None:
    """See that all streams of a party arrived as they had to.

    Raises:
        ChildError: One of them did not, or its proxy met a bug.
    """
    for stream in streams:
        stream.verify()
    faults = [stream.fault for stream in streams if stream.fault]
    if faults:
        raise ChildError(
            f"{party.name}: {len(faults)} of {len(streams)} streams are at fault, and "
            f"the first of them {faults[0]}.",
            list(party.proxy.lines),
        )
    check(party.proxy)
