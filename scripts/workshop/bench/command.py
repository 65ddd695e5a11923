"""One run of the benchmark, from the command line's wishes to the table."""

import argparse
import contextlib
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import _bootstrap
from workshop import markers
from workshop.bench import children, machine, peers, report
from workshop.bench.figures import figures
from workshop.bench.jobs import ROUNDS, Job, jobs_of
from workshop.bench.rounds import Bench, Progress
from workshop.bench.sides import (
    DIRECT,
    FLOOR,
    OTHER,
    PEERS,
    SIDES,
    Mitmdumps,
    Proxy,
    Side,
)
from workshop.child import START, ChildError

VERSION = 2  # of the JSON
INTERRUPTED = 130
MICRO_EVENTS = 1000
DOCUMENT = markers.DOCS / "performance.md"


class OverloadedError(ValueError):
    """A side fell behind: what was measured is no figure."""


def main(flags: argparse.Namespace) -> int:
    """Do what is asked for and return the exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _end)
    # A shell starts what runs in its background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = measure(flags)
        tell(flags, result)
    except ChildError as error:
        for line in error.lines:
            _bootstrap.say("    " + line)
        _bootstrap.say(f"llm_normalize: {error}")
        return 1
    except (markers.MarkersError, OverloadedError, OSError) as error:
        _bootstrap.say(f"llm_normalize: {error}")
        return 1
    except KeyboardInterrupt:
        _bootstrap.say("\nllm_normalize: interrupted; nothing is left running")
        return INTERRUPTED
    return 0


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def tell(flags: argparse.Namespace, result: dict[str, Any]) -> None:
    """Print the result, and write it where it is wanted."""
    text = report.markdown(result)
    print(text, end="")
    if flags.json:
        whole = json.dumps(result, indent=1, ensure_ascii=False)
        flags.json.write_text(whole + "\n", encoding="utf-8")
    if flags.markdown:
        flags.markdown.write_text(text, encoding="utf-8")
    document = report.document(result)
    if flags.update_docs and report.OVERLOADED in document:
        raise OverloadedError(
            "a side was overloaded, so the document stays as it is: run it again on a "
            "machine with nothing else to do"
        )
    if flags.update_docs:
        markers.update(DOCUMENT, "bench", document)


def measure(flags: argparse.Namespace) -> dict[str, Any]:
    """Return all figures.

    Raises:
        ChildError: A stream did not arrive as it had to, or something did not start.
    """
    cpus = machine.share_cpus()
    result: dict[str, Any] = {
        "version": VERSION,
        "machine": machine.describe(),
        "pinned": cpus.sentence,
        "rounds": flags.rounds,
        "scale": flags.scale,
        "sides": {},
        "notes": [],
    }
    parts = [part for part in flags.only if part != "micro"]
    if parts:
        result["sides"] = _measure(flags, parts, cpus, result["notes"])
    if "micro" in flags.only:
        result["micro"] = _micro(flags)
    return result


def _micro(flags: argparse.Namespace) -> list[dict[str, Any]]:
    from workshop.bench import micro as bench_micro  # noqa: PLC0415 - it imports all of the addon

    events = max(40, int(MICRO_EVENTS * min(1, flags.scale)))
    live = sys.stderr.isatty()
    progress = Progress(flags.rounds + 1, sys.stderr.write, live=live)
    progress.begin("stages and fixes")
    try:
        return bench_micro.measure(flags.rounds, events, progress.job)
    finally:
        progress.end()


def _measure(
    flags: argparse.Namespace, parts: list[str], cpus: machine.Cpus, notes: list[str]
) -> dict[str, Any]:
    wanted = [DIRECT, FLOOR, *(SIDES[name] for name in flags.sides)]
    wanted += [OTHER] if flags.other else []
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_folder())
        provider = stack.enter_context(children.provider(cpus.traffic))
        client = stack.enter_context(children.client(cpus.traffic))
        port = int(provider.line(START))
        found: dict[str, Proxy] = {}
        if flags.peers:
            names = [side.name for side in PEERS]
            found |= stack.enter_context(
                peers.running(names, port, folder, cpus, notes.append)
            )
            for note in notes:
                _bootstrap.say(f"llm_normalize: {note}")
            peered = [side for side in PEERS if side.proxy in found]
            wanted += peered
            notes += [_slow(side) for side in peered if side.slow > 1]
        mitmdumps = Mitmdumps(folder, port, cpus, flags.other)
        _bootstrap.say("llm_normalize: starting the proxies")
        bench = Bench(client, port, found, mitmdumps)
        _run(bench, flags, parts, wanted)
        for proxy in found.values():
            proxy.child.check()  # its last words may have come late
        return figures(bench.outcomes, wanted)


def _slow(side: Side) -> str:
    return (
        f"{side.name} is slow: it gets one in {side.slow} of the paced duels' streams, "
        "and of the long stream's events"
    )


def _run(
    bench: Bench, flags: argparse.Namespace, parts: list[str], sides: list[Side]
) -> None:
    """Run all rounds, and then what is measured once."""
    in_rounds = [part for part in ROUNDS if part in parts]
    counted = dict.fromkeys(
        (side.name for side in sides), 1.0
    )  # the number is the same

    def jobs(parts: list[str], pace: dict[str, float]) -> list[Job]:
        return [
            job for part in parts for job in jobs_of(part, sides, flags.scale, pace)
        ]

    memory = [part for part in parts if part not in in_rounds]
    needed = list(dict.fromkeys(side.proxy for side in sides))
    rounds = flags.rounds if in_rounds else 0
    total = rounds * (len(sides) + len(jobs(in_rounds, counted)))
    total += len(jobs(memory, counted))
    progress = Progress(total, sys.stderr.write, live=sys.stderr.isatty())
    bench.announce = progress.job
    try:
        for number in range(rounds):
            with bench.started(needed):
                progress.begin(f"round {number + 1} of {rounds}")
                bench.warm_up(sides, flags.scale)
                bench.run(jobs(in_rounds, bench.pace), number)
        if memory:
            progress.begin("memory")
            bench.run(jobs(memory, bench.pace), 0)
    finally:
        progress.end()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder for the proxies' files, which goes when they have ended."""
    folder = Path(tempfile.mkdtemp(prefix="llm-normalize-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
