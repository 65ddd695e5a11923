"""The client of the benchmark: it asks two proxies for the same streams at once."""

import contextlib
import http.client
import ssl
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from workshop import LOOPBACK
from workshop.bench import machine
from workshop.bench.provider import GAP
from workshop.bench.sides import Proxy
from workshop.bench.traffic import HEADER, PATH, Form, Plan, expected, text_of
from workshop.child import ChildError

PATIENCE = 30.0  # seconds without a byte
STAGGER = 1.382 * GAP
"""Seconds between the beginnings of two streams: the golden ratio keeps events apart."""
LATE = 5  # gaps between events; what ends later than that has fallen behind
QUIET = 0.05  # seconds; five of them: the pairs log gathers for 0.2 s before it writes
QUIET_CPU = 0.001  # seconds of CPU that a proxy may use meanwhile


class Party(NamedTuple):
    """One of those that are compared.

    Attributes:
        name: What errors call it.
        proxy: The proxy that it asks.
        form: What has to arrive.
    """

    name: str
    proxy: Proxy
    form: Form


class Used(NamedTuple):
    """What a party's proxy took for a load.

    Attributes:
        us: Microseconds of CPU time per event.
        kept_up: Whether it forwarded nine streams of ten as fast as they came.
    """

    us: float
    kept_up: bool


class Stream(threading.Thread):
    """One stream.

    Args:
        plan: What is asked for.
        party: By whom.
        tunnel: The provider's port, which is reached by CONNECT; 0 in reverse mode.
        trusted: The TLS settings in the tunnel.
    """

    def __init__(
        self, plan: Plan, party: Party, tunnel: int, trusted: ssl.SSLContext
    ) -> None:
        super().__init__(daemon=True)
        self.fault = ""
        """Why it is not what had to arrive, as a sentence's end; empty for none."""
        self.took = 0.0
        """Seconds from the request to the end."""
        self._plan = plan
        self._form = party.form
        self._wanted = expected(plan, party.form)  # now: it takes its time
        there = (LOOPBACK, party.proxy.port, PATIENCE)
        self.connection = http.client.HTTPConnection(*there[:2], timeout=there[2])
        if tunnel:
            self.connection = http.client.HTTPSConnection(
                *there[:2], timeout=there[2], context=trusted
            )
            self.connection.set_tunnel(LOOPBACK, tunnel)

    def run(self) -> None:
        """Ask for it, and see what arrives."""
        try:
            self._verify(self._ask())
        except http.client.IncompleteRead:
            self.fault = "broke off"
        except (OSError, http.client.HTTPException) as error:
            self.fault = f"got no answer: {error!r}"

    def _ask(self) -> bytes:
        if self.connection.sock is None:
            self.connection.connect()
        started = time.monotonic()
        headers = {
            "content-type": "application/json",
            "authorization": "Bearer bench",
            HEADER: self._plan.header(),
        }
        self.connection.request("POST", PATH, self._plan.request(), headers)
        answer = self.connection.getresponse()
        found = []
        while data := answer.read1():
            found.append(data)
        self.took = time.monotonic() - started
        body = b"".join(found)
        if answer.status != http.HTTPStatus.OK:
            self.fault = f"was refused: {answer.status} {body[:300]!r}"
        return body

    def _verify(self, body: bytes) -> None:
        found = text_of(body) if self._form == "text" else body
        if self.fault or found in self._wanted:
            return
        wanted = self._wanted[0]
        pairs = enumerate(zip(found, wanted, strict=False))
        shorter = min(len(found), len(wanted))
        at = next((place for place, (a, b) in pairs if a != b), shorter)
        what = "text" if self._form == "text" else "bytes"
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
        (
            party,
            Stream(plan._replace(seed=2 * plan.seed + turn), party, tunnel, trusted),
        )
        for plan in plans
        for turn, party in enumerate(parties)
    ]
    pids = [party.proxy.child.pid for party in parties]
    try:
        if tunnel:
            for _, stream in streams:
                with contextlib.suppress(OSError):  # tried again, and reported
                    stream.connection.connect()
        before = settle(pids)
        start = time.monotonic()
        for number, (_, stream) in enumerate(streams):
            time.sleep(max(0, start + number * STAGGER - time.monotonic()))
            stream.start()
        for _, stream in streams:
            stream.join()
        after = settle(pids)
    finally:
        for _, stream in streams:
            stream.connection.close()
    found = []
    for party, early, late in zip(parties, before, after, strict=True):
        own = [stream for each, stream in streams if each is party]
        verify(party, own)
        events = plans[0].events
        # Not the last one: a pause that hits one stream is no load that is too high.
        took = sorted(stream.took for stream in own)[len(own) * 9 // 10]
        us = (late - early) / (events * len(own)) * 1e6
        found.append(Used(us, took <= (events + LATE) * GAP))
    return found


def verify(party: Party, streams: Sequence[Stream]) -> None:
    """See that all streams of a party arrived as they had to.

    Raises:
        ChildError: One of them did not, or its proxy met a bug.
    """
    faults = [stream.fault for stream in streams if stream.fault]
    if faults:
        raise ChildError(
            f"{party.name}: {len(faults)} of {len(streams)} streams are at fault, and "
            f"the first of them {faults[0]}.",
            list(party.proxy.child.lines),
        )
    party.proxy.child.check()


def settle(pids: Sequence[int]) -> list[float]:
    """Return the CPU time of each of *pids* once they rest: a log is written late."""
    end = time.monotonic() + PATIENCE
    quiet = 0
    used = [machine.cpu_of(pid) for pid in pids]
    while quiet < 5 and time.monotonic() < end:  # noqa: PLR2004 - see `QUIET`
        time.sleep(QUIET)
        now = [machine.cpu_of(pid) for pid in pids]
        steps = [late - early for late, early in zip(now, used, strict=True)]
        quiet = quiet + 1 if max(steps) < QUIET_CPU else 0
        used = now
    return used
