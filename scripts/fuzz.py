"""Look for bytes that break a promise: what is checked is in workshop/fuzz.

Begins with the inputs in tests/fuzz, each of which broke a promise once, and goes on
with mutated answers, drawn by `--seed`.

Led by coverage where atheris has wheels; elsewhere the same mutations are drawn by chance.
Each job is a process, which reports its progress in lines; it reports each finding once,
and goes on.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.util
import json
import os
import queue
import random
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

import _bootstrap
import _uv

DEFAULT_SECONDS = 60
DEFAULT_SEED = 1
EVERY = 5.0  # seconds between two lines of progress
PATIENCE = 20.0  # seconds that a job may take longer than it was given
SHRINKING = 5.0  # seconds to make a finding small
HANGS = 60  # seconds after which libFuzzer gives an input up
ENOUGH = 30  # findings of one job: more tell nothing new
MARK = "@"
COVERAGE = re.compile(r"\bcov: (\d+)")


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description="Feed mutated answers through the repair and check its promises.",
        epilog=(
            "Replays what lies in tests/fuzz, then begins with tests/captures, the "
            "fixes' examples, and what lies in the folder that LLM_CAPTURES names. Ends "
            "with exit code 1 if anything was found. The first start makes the "
            "environment in .venv."
        ),
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help=f"how long (default: {DEFAULT_SECONDS})",
    )
    length.add_argument("--runs", type=int, metavar="N", help="how many inputs instead")
    parser.add_argument(
        "--seed",
        type=int,
        default=DEFAULT_SEED,
        metavar="N",
        help=f"of the dice (default: {DEFAULT_SEED}); 0 draws one, and says which",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="KIND",
        help="print new findings whose kind begins so, and do not fail for them; may be "
        "given several times",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="how many processes"
    )
    parser.add_argument(
        "--engine",
        choices=("atheris", "chance"),
        help="the default is atheris where it can be had",
    )
    parser.add_argument(
        "--fixes",
        type=Path,
        metavar="FILE",
        help="apply the fixes in this Python file, too, after all others",
    )
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="run one saved input and explain it"
    )
    # What a job gets: the folder for its findings.
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    flags = parser.parse_args(given)
    for name in ("runs", "seconds", "jobs"):
        value = getattr(flags, name)
        if value is not None and value <= 0:
            parser.error(f"--{name} takes a number above 0, not {value}")
    for path in filter(None, (flags.fixes, flags.replay)):
        if not path.is_file():
            parser.error(f"there is no file {path}")
    return flags


# A job: in the environment that has the engine


def target(flags: argparse.Namespace) -> Any:
    """Return the module with what is run, its fixes those that were asked for."""
    from workshop import fuzz  # noqa: PLC0415 - it needs the package, and Python 3.12

    if flags.fixes:
        spec = importlib.util.spec_from_file_location("more_fixes", flags.fixes)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        fuzz.add_fixes(vars(module).values())
    return fuzz


def send(**fields: object) -> None:
    """Print a line for the process that started this job."""
    try:
        print(MARK + json.dumps(fields), flush=True)
    except OSError:  # nobody listens any more
        os._exit(1)


class Job:
    """Runs inputs, tells how many, and saves what they find.

    Args:
        module: What is run.
        folder: Where findings are saved.
        until: When to end, on the monotonic clock.
    """

    def __init__(self, module: Any, folder: Path, until: float) -> None:
        self.runs = 0
        self.enough = False
        self._module = module
        self._folder = folder
        self._until = until
        self._reported = 0.0
        self._kinds: set[str] = set()

    def run(self, data: bytes) -> None:
        """Run one input."""
        self.runs += 1
        for found in self._module.check(data):
            if found.kind not in self._kinds and not self.enough:
                self._kinds.add(found.kind)
                self._save(found, data)
        if time.monotonic() - self._reported >= 1:
            self.report()

    def report(self) -> None:
        """Send how far this job is."""
        self._reported = time.monotonic()
        send(runs=self.runs)

    def _save(self, found: Any, data: bytes) -> None:
        left = max(min(SHRINKING, self._until - time.monotonic()), 1)
        data = self._module.shrink(data, found.kind, left)
        for each in self._module.check(data):
            if each.kind == found.kind:
                found = each
        words = re.sub(r"[^a-z]+", "-", found.kind.lower()).strip("-")[:60]
        digest = hashlib.sha256(data).hexdigest()[:8]
        path = self._folder / f"{words}-{digest}.bin"
        path.write_bytes(data)
        send(kind=found.kind, text=found.text, path=str(path))
        self.enough = len(self._kinds) >= ENOUGH


def work(flags: argparse.Namespace) -> None:
    """Run inputs until the time or the number is used up."""
    folder: Path = flags.job
    seconds = flags.seconds or float("inf")
    engine = {"atheris": _by_coverage, "chance": _by_chance}[flags.engine]
    engine(flags, folder, time.monotonic() + seconds)


def _by_coverage(flags: argparse.Namespace, folder: Path, until: float) -> None:
    import atheris  # noqa: PLC0415 - only this environment has it

    with atheris.instrument_imports(include=["llm_normalize"]):
        module = target(flags)
    seeds = module.seeds()
    corpus = folder / f"corpus-{flags.seed}"
    corpus.mkdir()
    # Named one by one: a folder is read in any order, and again as the clock tells.
    paths = [corpus / f"{number:04}" for number in range(len(seeds[: flags.runs]))]
    for path, data in zip(paths, seeds):  # it runs all that are there
        path.write_bytes(data)
    listed = corpus / "list"
    listed.write_text(",".join(map(str, paths)))
    mutator = module.Mutator(seeds)
    job = Job(module, folder, until)

    def mutate(data: bytes, limit: int, seed: int) -> bytes:
        dice = random.Random(seed)  # noqa: S311 - not a secret
        if dice.random() < 0.1:  # noqa: PLR2004 - some changes are nobody's idea
            return bytes(atheris.Mutate(data, limit))
        return bytes(mutator.mutate(data, dice, limit))

    settings = [
        f"-seed={flags.seed}",
        f"-max_len={module.LONGEST}",
        f"-timeout={HANGS}",
        f"-report_slow_units={HANGS}",
        f"-artifact_prefix={folder}{os.sep}",
        f"-seed_inputs=@{listed}",
        "-len_control=0",
        "-rss_limit_mb=4096",
    ]
    if flags.runs:
        settings.append(f"-runs={flags.runs}")
    else:
        settings.append(f"-max_total_time={max(int(flags.seconds), 1)}")
    atheris.Setup([sys.argv[0], *settings], job.run, custom_mutator=mutate)
    atheris.Fuzz()  # ends the process


def _by_chance(flags: argparse.Namespace, folder: Path, until: float) -> None:
    module = target(flags)
    seeds = module.seeds()
    mutator = module.Mutator(seeds)
    job = Job(module, folder, until)
    dice = random.Random(flags.seed)  # noqa: S311 - not a secret
    for data in seeds[: flags.runs]:
        job.run(data)
    while time.monotonic() < until and job.runs < (flags.runs or sys.maxsize):
        data = dice.choice(seeds)
        for _ in range(dice.randint(1, 4)):
            data = mutator.mutate(data, dice)
        job.run(data)
    job.report()


# Starting jobs, and telling how they go


class Jobs:
    """The jobs of one run and their findings."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.findings: dict[str, dict[str, str]] = {}
        self.failed = False
        self._runs: dict[int, int] = {}
        self._coverage = 0
        self._processes: list[subprocess.Popen[str]] = []
        self._lines: queue.Queue[tuple[int, str | None]] = queue.Queue()
        self._last: dict[int, list[str]] = {}

    def start(self, command: list[str], seed: int) -> None:
        """Start a job, the order of its sets by *seed*, too.

        A Ctrl-C in the terminal is for this process alone.
        """
        more: dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            more = {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONHASHSEED": str(seed % 2**32)},
            **more,
        )
        number = len(self._processes)
        self._processes.append(process)
        self._last[number] = []

        def read() -> None:
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    self._lines.put((number, line.rstrip("\n")))
            self._lines.put((number, None))

        threading.Thread(target=read, daemon=True).start()

    def follow(self, until: float, report: Callable[[dict[str, str]], None]) -> None:
        """Listen until all jobs have ended, or are ended because it is late.

        Args:
            until: When they should have ended, on the monotonic clock.
            report: Called with each new finding, to be put to the `findings`.
        """
        running = len(self._processes)
        line_at = time.monotonic() + EVERY
        while running:
            now = time.monotonic()
            if now >= line_at:
                print(self.progress(), flush=True)
                line_at = now + EVERY
            if now > until + PATIENCE:
                self.stop()
            try:
                number, line = self._lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                running -= 1
                self._ended(number, now < until + PATIENCE)
            elif line.startswith(MARK):
                self._heard(number, json.loads(line[len(MARK) :]), report)
            else:
                match = COVERAGE.search(line)
                if match:
                    self._coverage = max(self._coverage, int(match[1]))
                self._last[number] = [*self._last[number][-15:], line]

    def stop(self) -> None:
        """End all jobs now."""
        for process in self._processes:
            process.kill()

    def progress(self) -> str:
        """Return how far the jobs are, in a line."""
        took = time.monotonic() - self.started
        runs = sum(self._runs.values())
        parts = [f"{runs} runs", f"{runs / max(took, 0.1):.0f} runs/s"]
        if self._coverage:
            parts.append(f"coverage {self._coverage}")
        parts.append(f"{len(self.findings)} findings")
        return f"{took:5.0f} s: " + ", ".join(parts)

    def _heard(
        self,
        number: int,
        message: dict[str, Any],
        report: Callable[[dict[str, str]], None],
    ) -> None:
        if "runs" in message:
            self._runs[number] = message["runs"]
        elif message["kind"] not in self.findings:
            report(message)

    def _ended(self, number: int, by_itself: bool) -> None:
        code = self._processes[number].wait()
        for line in self._last[number]:
            match = re.match(r"Done (\d+) runs", line)
            if match:
                self._runs[number] = int(match[1])
        if code and by_itself:
            self.failed = True
            print(f"job {number} ended with exit code {code}; it said last:")
            print("\n".join("    " + line for line in self._last[number]))


def engine_of(flags: argparse.Namespace) -> str:
    """Return the engine to use.

    Raises:
        SetupError: The one that is asked for is not here.
    """
    if flags.engine == "chance" or importlib.util.find_spec("atheris"):
        return flags.engine or "atheris"
    reason = "atheris has no wheel for this Python on this system"
    if flags.engine:
        raise _uv.SetupError(f"{reason}: leave out --engine atheris")
    print(f"{reason}: mutations are drawn by chance, without coverage")
    return "chance"


def run(flags: argparse.Namespace) -> int:
    """Run the jobs and return the exit code."""
    engine = engine_of(flags)
    seed = flags.seed or random.randrange(1, 2**31)  # noqa: S311
    if flags.seconds is None and flags.runs is None:
        flags.seconds = DEFAULT_SECONDS
    folder = Path(tempfile.mkdtemp(prefix="llm_normalize-fuzz-"))
    count = f"{flags.runs} runs" if flags.runs else f"{flags.seconds:g} s"
    more = ["--fixes", str(flags.fixes.resolve())] if flags.fixes else []

    def report(finding: dict[str, str]) -> None:
        jobs.findings[finding["kind"]] = finding
        place = Path(__file__).resolve()
        rerun = ["python3", str(place), *more, "--replay", finding["path"]]
        text = finding["text"].rstrip().replace("\n", "\n    ")
        print(f"\n{finding['kind']}\n    {text}\n  {shlex.join(rerun)}", flush=True)
        # The file is gone where a machine lasts as long as its job.
        data = base64.b64encode(Path(finding["path"]).read_bytes()).decode()
        print(f"  the input in base64: {data}\n", flush=True)

    jobs = Jobs()
    try:
        print(f"{engine}, {count}, seed {seed}, jobs {flags.jobs}", flush=True)
        module = target(flags)
        for path in module.inputs():
            for found in module.check(path.read_bytes()):
                report({"kind": found.kind, "text": found.text, "path": str(path)})
        for number in range(flags.jobs):
            command = [sys.executable, str(Path(__file__).resolve()), *more]
            command += ["--engine", engine, "--job", str(folder)]
            command += ["--seed", str(seed + number)]
            if flags.runs:
                command += ["--runs", str(max(flags.runs // flags.jobs, 1))]
            else:
                command += ["--seconds", str(flags.seconds)]
            jobs.start(command, seed + number)
        jobs.follow(time.monotonic() + (flags.seconds or float("inf")), report)
    except KeyboardInterrupt:
        print("\ninterrupted")
    finally:
        jobs.stop()
    return summary(jobs, folder, tuple(flags.report))


def summary(jobs: Jobs, folder: Path, reported: tuple[str, ...] = ()) -> int:
    """Print the result, remove what is of no use, and return the exit code.

    Args:
        jobs: What ran.
        folder: Where new findings are.
        reported: How kinds of findings begin that are printed alone.
    """
    for corpus in folder.glob("corpus-*"):
        for path in corpus.iterdir():
            path.unlink()
        corpus.rmdir()
    print("--- summary")
    print(jobs.progress().strip())
    for kind, finding in sorted(jobs.findings.items()):
        print(f"{kind}: {finding['path']}")
    left = [path for path in sorted(folder.iterdir()) if path.suffix != ".bin"]
    for path in left:  # libFuzzer's own: an input that hung, say
        print(f"an input that ended its job, or took too long for libFuzzer: {path}")
    if not any(folder.iterdir()):
        folder.rmdir()
    fatal = [
        kind
        for kind, finding in jobs.findings.items()
        # The inputs in tests/fuzz were repaired once, so they have to stay so.
        if not (kind.startswith(reported) and folder in Path(finding["path"]).parents)
    ]
    return int(bool(fatal or left or jobs.failed))


def replay(flags: argparse.Namespace) -> int:
    """Run one input, explain it, and return the exit code."""
    module = target(flags)
    data = flags.replay.read_bytes()
    print(module.Case.read(data).describe())
    found = module.check(data)
    for finding in found:
        print(f"\n{finding.kind}\n{finding.text}")
    if not found:
        print("\nno promise is broken")
    return int(bool(found))


def main() -> int:
    """Do what the command line asks for and return the exit code."""
    flags = parse(sys.argv[1:])
    if flags.job:
        work(flags)
        return 0
    _bootstrap.ensure()
    if flags.replay:
        return replay(flags)
    try:
        return run(flags)
    except _uv.SetupError as error:
        print(f"llm_normalize: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
