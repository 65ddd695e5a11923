"""One run of the benchmark, from the command line's wishes to the table."""

import argparse
import contextlib
import itertools
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from workshop import NORMALIZE, child, machine, markers
from workshop.bench import client, provider, report
from workshop.bench.report import Duel, Result
from workshop.bench.sides import CA, LINES, Line, Load, check, mitmdump
from workshop.bench.traffic import Form, Plan
from workshop.certificates import client_context, make_ca, server_context
from workshop.traffic.process import Mitmdump
from workshop.traffic.server import ServerThread

QUICK_SHARE = 5  # the part of the usual streams
QUICK_EVENTS = 100  # of a made stream at most
WARM_UP_STREAMS = 2
ALPN = ("http/1.1",)
DOCUMENT = markers.DOCS / "performance.md"


class OverloadedError(ValueError):
    """A side fell behind: what was measured is no figure."""


def main(flags: argparse.Namespace) -> int:
    """Do what is asked for and return the exit code."""

    def work() -> int:
        tell(flags, measure(flags))
        return 0

    return child.measured(work, markers.MarkersError, OverloadedError, OSError)


def tell(flags: argparse.Namespace, result: Result) -> None:
    """Print the result, and write it where it is wanted."""
    text = report.markdown(result)
    print(text, end="")
    if flags.update_docs and report.OVERLOADED in text:
        raise OverloadedError("a side was overloaded: run it on a machine that is idle")
    if flags.update_docs:
        markers.update(DOCUMENT, "bench", text)


def measure(flags: argparse.Namespace) -> Result:
    """Return all figures.

    Raises:
        ChildError: A stream did not arrive as it had to, or something did not start.
    """
    cpus = machine.share_cpus()
    machine.pin(os.getpid(), cpus.traffic)
    lines = {name: LINES[name] for name in flags.only}
    duels: dict[tuple[str, str, str], list[Duel]] = defaultdict(list)
    start = time.monotonic()
    with bench(cpus) as made:
        for number in range(flags.rounds):
            passed = f"{time.monotonic() - start:4.0f} s"
            print(f"{passed}: round {number + 1} of {flags.rounds}", file=sys.stderr)
            with made.started(lines):
                # A proxy's first streams cost more: what they need is made by them.
                for name, load, proxy in made.jobs(lines, quick=True):
                    load = load._replace(streams=WARM_UP_STREAMS)  # noqa: PLW2901
                    made.duel(lines[name], load, proxy, number)
                for name, load, proxy in made.jobs(lines, quick=flags.quick):
                    for _ in range(3):  # a pause of the machine spoils one
                        duel = made.duel(lines[name], load, proxy, number)
                        if duel.own.kept_up and duel.floor.kept_up:
                            break
                    duels[name, load.label, proxy].append(duel)
    return Result(machine.describe(), cpus.sentence, flags.rounds, lines, duels)


class Bench:
    """The provider, and the proxies of a round.

    Args:
        folder: For files; its `ca` is the CA of provider and proxies.
        plain: The provider's port, for proxies in reverse mode.
        tunnel: The provider's port with TLS.
        cpus: Where proxies run.
        addon: What is measured.
    """

    def __init__(
        self, folder: Path, plain: int, tunnel: int, cpus: machine.Cpus, addon: Path
    ) -> None:
        self._folder = folder
        self._plain = plain
        self._tunnel = tunnel
        self._cpus = cpus
        self._addon = addon
        trusted = folder / "ca" / f"{CA}-ca-cert.pem"
        self._trusted = client_context(trusted, ALPN)
        self._proxies: Mapping[str, Mitmdump] = {}
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def started(self, lines: Mapping[str, Line]) -> Iterator[None]:
        """Have the proxies of *lines* started, and ended after this.

        What a process costs depends on how its memory happens to be laid out: the ratio of
        two by some 0.03. So each round has others.

        Raises:
            ChildError: One of them did not start, or met a bug.
        """
        names = [(line.floor, line.addon, line.lean) for line in lines.values()]
        self._proxies = {
            name: mitmdump(
                name,
                self._addon,
                self._folder / f"{next(self._numbers)}-{name}",
                self._folder / "ca",
                self._plain,
            )
            for name in dict.fromkeys(filter(None, itertools.chain(*names)))
        }
        with child.running([*self._proxies.values()]):
            for each in self._proxies.values():
                machine.pin(each.pid, self._cpus.proxies)  # it may start anywhere
            yield
            for each in self._proxies.values():
                check(each)  # its last words may have come late

    @staticmethod
    def jobs(
        lines: Mapping[str, Line], *, quick: bool
    ) -> Iterator[tuple[str, Load, str]]:
        """Yield the name of a line, a load of it, and the proxy beside the floor."""
        for name, line in lines.items():
            for load in line.loads():
                if quick and not line.tls and load.events > QUICK_EVENTS:
                    continue
                streams = load.streams // (QUICK_SHARE if quick else 1)
                for proxy in filter(None, (line.addon, line.lean)):
                    yield name, load._replace(streams=streams), proxy

    def duel(self, line: Line, load: Load, proxy: str, number: int) -> Duel:
        """Ask a proxy and the floor for the same traffic at once."""
        forms: dict[str, Form] = {proxy: line.form, line.floor: "sent"}
        if proxy == line.lean:
            forms[proxy] = "text"
        parties = [
            client.Party(f"{name}, {load.label}", self._proxies[name], form)
            for name, form in forms.items()
        ]
        plans = [
            Plan(load.kind, load.events, next(self._numbers))
            for _ in range(load.streams)
        ]
        turn = -1 if number % 2 else 1  # who is asked first takes turns
        tunnel = self._tunnel if line.tls else 0
        used = client.run(parties[::turn], plans, self._trusted, tunnel)
        return Duel(*used[::turn])


@contextlib.contextmanager
def bench(cpus: machine.Cpus, addon: Path = NORMALIZE) -> Iterator[Bench]:
    """Have the provider, and a folder for the proxies' files, while this is entered."""
    with (
        tempfile.TemporaryDirectory(
            prefix="llm-normalize-bench-", ignore_cleanup_errors=True
        ) as name,
        ServerThread(provider.answer) as plain,
    ):
        folder = Path(name)
        make_ca(folder / "ca", CA)
        context = server_context(folder / "ca", CA, ALPN)
        with ServerThread(provider.answer, context) as tunnel:
            yield Bench(folder, plain.port, tunnel.port, cpus, addon)
