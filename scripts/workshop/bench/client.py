"""The client of the benchmark: a process of its own that asks for streams.

Reads a load a line on stdin, as JSON, and answers each with a line: how fast the events
of each party arrived, and what its proxy has used meanwhile. What a proxy does between two
marks is its work for the events between them, without that of connections that open and
close: one is made when every stream is well under way, one when the first of them ends.
"""

import json
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from workshop.bench import machine
from workshop.bench.arrival import Arrival
from workshop.bench.load import Load, Target
from workshop.bench.traffic import HOST, Plan
from workshop.traffic.memory import Weight

PATIENCE = 30.0  # seconds without a byte
READ = 256 * 1024
STAGGER = 10_000_000  # nanoseconds between the beginnings of two paced streams
NAP = 0.001  # seconds between two looks at streams without a gap
QUIET = 0.25  # seconds; the pairs log gathers for 0.2 s before it writes
QUIET_CPU = 0.001  # seconds of CPU that a proxy may use within a tenth of that


class Mark(NamedTuple):
    """How far a party is at some time."""

    at: int
    events: int
    used: Weight | None


class Party:
    """The streams of one target."""

    def __init__(self, target: Target, load: Load, plans: Sequence[Plan]) -> None:
        self.target = target
        self.late: list[int] = []
        self._counts_from = max(1, int(target.events * load.mark))
        self._counts_until = int(target.events * load.until)
        self.arrivals = [
            Arrival(plan, target.form, self.late, self._counts_from) for plan in plans
        ]
        self.begun: Mark | None = None
        self.ended: Mark | None = None
        self._waited_for = set(self.arrivals)
        self._before = self.mark()
        self._after = self._before
        self._last_at = 0

    def mark(self) -> Mark:
        """Return how far it is now."""
        used = machine.read(self.target.pid) if self.target.pid else None
        events = sum(arrival.events for arrival in self.arrivals)
        return Mark(time.monotonic_ns(), events, used)

    def note(self, arrival: Arrival, now: int) -> None:
        """Record what arrived for *arrival* at *now*."""
        if self._waited_for and arrival.events >= self._counts_from:
            self._waited_for.discard(arrival)
            if not self._waited_for:
                self.begun = self.mark()
        if self.ended is None and (
            arrival.over or arrival.events >= self._counts_until
        ):
            self.ended = self.mark()
        if arrival.over:
            self._last_at = now

    def finish(self) -> None:
        """Take the last reading."""
        self._after = self.mark()

    def report(self) -> dict[str, Any]:
        """Return the report on it."""
        reported: dict[str, Any] = {
            "name": self.target.name,
            "events": self.target.events * self.target.streams,
            "seconds": (self._last_at - min(a.asked_at for a in self.arrivals)) / 1e9,
            "faults": [arrival.fault for arrival in self.arrivals if arrival.fault],
            "first_ms": [
                (arrival.first_at - arrival.asked_at) / 1e6
                for arrival in self.arrivals
                if arrival.first_at
            ],
            "late_us": quantiles(self.late),
        }
        before, after = self._before.used, self._after.used
        if before and after:
            reported["cpu"] = after.cpu - before.cpu
            reported["window"] = self._window()
            reported["rss"] = {"before": before.rss, "peak": after.peak}
            for name, mark in (("mark", self.begun), ("end", self.ended)):
                reported["rss"][name] = mark.used.rss if mark and mark.used else None
        return reported

    def _window(self) -> dict[str, float] | None:
        begun, ended = self.begun, self.ended
        if not (begun and ended and begun.used and ended.used):
            return None
        if ended.events <= begun.events:
            return None
        return {
            "events": ended.events - begun.events,
            "cpu": ended.used.cpu - begun.used.cpu,
            "seconds": (ended.at - begun.at) / 1e9,
        }


def quantiles(nanoseconds: Sequence[int]) -> dict[str, float] | None:
    """Return the median and the 99th percentile (by nearest rank) in microseconds."""
    if not nanoseconds:
        return None
    ranked = sorted(nanoseconds)
    last = len(ranked) - 1
    found = {name: ranked[round(last * q)] for name, q in (("p50", 0.5), ("p99", 0.99))}
    return {name: value / 1000 for name, value in found.items()} | {
        "count": len(ranked)
    }


def parties_of(load: Load) -> list[Party]:
    """Return the parties of a load, their streams spread over the gap by turns."""
    total = sum(target.streams for target in load.targets)
    parties = []
    for turn, target in enumerate(load.targets):
        plans = []
        for number in range(target.streams):
            place = number * len(load.targets) + turn
            phase = load.gap_us * place // max(total, place + 1)
            plan = Plan(target.kind, target.events, load.gap_us, phase, place * 97)
            plans.append(plan)
        parties.append(Party(target, load, plans))
    return parties


class Run:
    """One load on its way."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._parties = parties_of(load)
        self._selector = selectors.DefaultSelector()
        self._open = 0

    def run(self) -> list[dict[str, Any]]:
        """Return the report on each party."""
        waiting = self._connect()
        self._open = len(waiting)
        heard = start = time.monotonic_ns()
        begun = 0
        while self._open:
            now = time.monotonic_ns()
            while begun < len(waiting) and now >= self._due(start, begun):
                self._ask(*waiting[begun])
                begun += 1
            more = begun < len(waiting)
            left = (self._due(start, begun) - now) / 1e9 if more else 1.0
            ready = self._selector.select(max(left, 0))
            for key, _ in ready:
                self._read(*key.data)
            heard = time.monotonic_ns() if ready else heard
            if not self._load.gap_us:
                # To wake who waits for an event costs as much as passing it on, and a
                # slower proxy would have to do it more often.
                time.sleep(NAP)
            if time.monotonic_ns() - heard > PATIENCE * 1e9:
                self._give_up(f"got nothing for {PATIENCE:.0f} s")
        if self._load.settle:
            settle([party.target.pid for party in self._parties if party.target.pid])
        for party in self._parties:
            party.finish()
        return [party.report() for party in self._parties]

    def _due(self, start: int, number: int) -> int:
        return start + number * STAGGER if self._load.gap_us else start

    def _connect(self) -> list[tuple[Party, int, Arrival, socket.socket]]:
        """Return all streams, connected, the parties by turns."""
        found = []
        for party in self._parties:
            for number, arrival in enumerate(party.arrivals):
                there = (HOST, party.target.port)
                connection = socket.create_connection(there, PATIENCE)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found.append((party, number, arrival, connection))
        return sorted(found, key=lambda each: each[1])

    def _ask(
        self, party: Party, _: int, arrival: Arrival, connection: socket.socket
    ) -> None:
        request = arrival.plan.request(f"{HOST}:{party.target.port}")
        arrival.asked_at = time.monotonic_ns()
        connection.sendall(request)
        connection.setblocking(False)
        data = (party, arrival, connection)
        self._selector.register(connection, selectors.EVENT_READ, data)

    def _read(self, party: Party, arrival: Arrival, connection: socket.socket) -> None:
        try:
            data = connection.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        now = time.monotonic_ns()
        arrival.receive(data, now)
        party.note(arrival, now)
        if arrival.over:
            self._close(connection)

    def _give_up(self, fault: str) -> None:
        for key in list(self._selector.get_map().values()):
            party, arrival, connection = key.data
            arrival.fail(fault)
            party.note(arrival, time.monotonic_ns())
            self._close(connection)

    def _close(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        connection.close()
        self._open -= 1


def settle(pids: Sequence[int]) -> None:
    """Wait until none of *pids* does anything any more: a log is written late."""
    end = time.monotonic() + PATIENCE
    quiet = 0
    used = [machine.read(pid).cpu for pid in pids]
    while quiet < 5 and time.monotonic() < end:  # noqa: PLR2004 - tenths, see below
        time.sleep(QUIET / 5)
        now = [machine.read(pid).cpu for pid in pids]
        steps = [late - early for late, early in zip(now, used, strict=True)]
        quiet = quiet + 1 if max(steps, default=0) < QUIET_CPU else 0
        used = now


def main() -> None:
    """Run a load for each line of stdin, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the benchmark's end is ours
    for line in sys.stdin:
        try:
            reported: dict[str, Any] = {"parties": Run(Load.of_line(line)).run()}
        except (OSError, machine.GoneError) as error:
            reported = {"error": f"{error}"}
        print(json.dumps(reported), flush=True)


if __name__ == "__main__":
    main()
