"""The benchmark on its way: one job after another, each verified."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workshop.bench import jobs as plan
from workshop.bench.children import Worker, ask
from workshop.bench.client import PATIENCE
from workshop.bench.jobs import Job, JobResult
from workshop.bench.load import Load
from workshop.bench.sides import FLOOR, Mitmdumps, Proxy, Side, target
from workshop.child import ChildError

STEADY = 0.25  # the part of a stream after which its proxy's work counts
LONG = (0.2, 0.98)  # between these parts of the long stream memory must not grow


class Bench:
    """All jobs that have been run.

    Args:
        client: The client's process.
        provider: The provider's port.
        proxies: Those that run all the time, by name.
        mitmdumps: Starts the others: for each round, and for the memory of each.
    """

    def __init__(
        self,
        client: Worker,
        provider: int,
        proxies: Mapping[str, Proxy],
        mitmdumps: Mitmdumps,
    ) -> None:
        self.outcomes: list[JobResult] = []
        self.pace: dict[str, float] = {}
        """Seconds that each side takes for an event at saturation."""
        self.announce: Callable[[str], None] = lambda _: None
        """Called before each job with what is about to run."""
        self._client = client
        self._provider = provider
        self._proxies = proxies
        self._mitmdumps = mitmdumps

    @contextlib.contextmanager
    def started(self, names: Sequence[str]) -> Iterator[None]:
        """Have those proxies of *names* that are mitmdumps started, and ended after this.

        What a process costs depends on how its memory happens to be laid out: the ratio of
        two by some 0.03. So each round has others.

        Raises:
            ChildError: One of them did not start, or met a bug.
        """
        with self._mitmdumps.running(names) as proxies:
            before, self._proxies = self._proxies, {**self._proxies, **proxies}
            try:
                yield
            finally:
                self._proxies = before
            for proxy in proxies.values():
                proxy.child.check()  # its last words may have come late

    def warm_up(self, sides: Sequence[Side], scale: float) -> None:
        """Send each side traffic that does not count, and take its pace."""
        events = int(plan.WARM_UP_EVENTS * min(1, scale))
        for side in sides:
            each = max(plan.LEAST, events // side.slow)
            self.announce(f"warming up {side.name}")
            for share in (4, 1):  # the first to warm up, the second to take its pace
                job = Job("warm-up", side, plan.WARM_UP_STREAMS, each // share + 4)
                reported = self._one(job, 0)
            self.pace[side.name] = reported["seconds"] / reported["events"]

    def run(self, jobs: Sequence[Job], number: int) -> None:
        """Run one round."""
        for job in jobs:
            self.announce(f"{job.part}, {job.side.name}, streams: {job.streams}")
            self.outcomes.append(self._run(job, number))

    def _run(self, job: Job, number: int) -> JobResult:
        match job.part:
            case "paced" | "burst":
                return self._duel(job, number)
            case "memory":
                return JobResult(job, number, self._memory(job))
        gap = plan.GAP_US if job.part == "latency" else 0
        reported = self._one(job, gap, settle=not gap and job.side.lags)
        return JobResult(job, number, reported)

    def _one(self, job: Job, gap: int, *, settle: bool = False) -> dict[str, Any]:
        reported = self._ask([job.side], self._proxies, job, gap, settle=settle)
        return reported[job.side.name]

    def _duel(self, job: Job, number: int) -> JobResult:
        """Run the side and the floor at once, with the same traffic."""
        floor = FLOOR._replace(kind=job.side.kind)
        pair = [job.side, floor]
        if number % 2:
            pair.reverse()  # who is asked first takes turns
        gap = plan.GAP_US if job.part == "paced" else 0
        reported = self._ask(pair, self._proxies, job, gap, settle=job.side.lags)
        return JobResult(job, number, reported[job.side.name], reported[floor.name])

    def _memory(self, job: Job) -> dict[str, Any]:
        """Run one long stream, through a proxy that has not seen any other."""
        with self._fresh(job.side.proxy) as proxies:
            reported = self._ask([job.side], proxies, job, 0, marks=LONG)
        return reported[job.side.name]

    @contextlib.contextmanager
    def _fresh(self, name: str) -> Iterator[Mapping[str, Proxy]]:
        with self._mitmdumps.running([name]) as proxies:
            yield proxies or self._proxies  # a peer goes on in the one that runs

    def _ask(
        self,
        sides: Sequence[Side],
        proxies: Mapping[str, Proxy],
        job: Job,
        gap: int,
        *,
        settle: bool = False,
        marks: tuple[float, float] = (STEADY, 1.0),
    ) -> dict[str, dict[str, Any]]:
        """Return what the client tells of each of *sides*.

        Raises:
            ChildError: A stream did not arrive as it had to, or a proxy met a bug.
        """
        targets = []
        for side in sides:
            proxy = proxies.get(side.proxy)
            port, pid = (proxy.port, proxy.child.pid) if proxy else (self._provider, 0)
            targets.append(target(side, port, pid, job.streams, job.events))
        load = Load(targets, gap, *marks, settle)
        # Longer than the client's own patience: it says better what is missing.
        patience = 4 * PATIENCE + job.events * job.streams / 500
        parties = ask(self._client, load.line(), patience)
        reported = {each["name"]: each for each in parties}
        for side in sides:
            proxy = proxies.get(side.proxy)
            verify(side, job, reported[side.name]["faults"], proxy)
            if proxy:
                proxy.child.check()
        return reported


def verify(side: Side, job: Job, faults: Sequence[str], proxy: Proxy | None) -> None:
    """See that all streams of a load arrived as they had to.

    Raises:
        ChildError: One of them did not.
    """
    if faults:
        raise ChildError(
            f"{side.name} ({side.title}) does not bring what it has to: "
            f"{len(faults)} of {job.streams} streams in the part {job.part} are at "
            f"fault, and the first of them {faults[0]}.",
            list(proxy.child.lines) if proxy else (),
        )


class Progress:
    """Tells how far the benchmark is, on a line that is written over.

    Args:
        jobs: How many jobs there are in all.
        write: Prints.
        live: Whether the line can be written over; else each round gets one.
    """

    def __init__(
        self, jobs: int, write: Callable[[str], object], *, live: bool
    ) -> None:
        self._jobs = jobs
        self._write = write
        self._live = live
        self._done = 0
        self._start = time.monotonic()
        self._round = ""
        self._last = ""

    def begin(self, text: str) -> None:
        """Begin a round, or what stands in place of one."""
        self._round = text
        if not self._live:
            self._write(f"{self._took():4.0f} s: {text}\n")

    def job(self, text: str) -> None:
        """Tell what is about to run."""
        if self._live:
            left = ""
            if self._done > self._jobs // 10:
                rest = self._took() / self._done * max(self._jobs - self._done, 0)
                left = f", about {rest:.0f} s left"
            line = f"{self._took():4.0f} s{left}: {self._round}: {text}"
            self._write("\r" + line.ljust(len(self._last)))
            self._last = line
        self._done += 1

    def end(self) -> None:
        """Leave a clean line."""
        if self._live:
            self._write("\r" + " " * len(self._last) + "\r")

    def _took(self) -> float:
        return time.monotonic() - self._start
