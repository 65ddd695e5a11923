"""Look for bytes that break a promise: what is checked is in workshop/fuzz.

Begins with the inputs in tests/fuzz, each of which broke a promise once, and goes on
with mutated answers, drawn by `--seed`.

Led by coverage where atheris has wheels; elsewhere the same mutations are drawn by chance.
The job is a process, which saves the input of each finding once, and goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import _bootstrap
from workshop import arguments

DEFAULT_SECONDS = 60
DEFAULT_SEED = 1
SHRINKING = 5.0  # seconds to make a finding small
HANGS = 60  # seconds after which libFuzzer gives an input up
ENOUGH = 30  # findings of one job: more tell nothing new
EVERY = 5.0  # seconds between two lines of progress


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
        type=arguments.above_zero,
        metavar="N",
        help=f"how long (default: {DEFAULT_SECONDS})",
    )
    length.add_argument(
        "--runs",
        type=arguments.at_least(1),
        metavar="N",
        help="how many inputs instead",
    )
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
        "--fixes",
        type=arguments.file,
        metavar="FILE",
        help="apply the fixes in this Python file, too, after all others",
    )
    parser.add_argument(
        "--replay",
        type=arguments.file,
        metavar="FILE",
        help="run one saved input and explain it",
    )
    # What the job gets: the folder for its findings.
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


# The job: in the environment that has the engine


def target(flags: argparse.Namespace) -> Any:
    """Return the module with what is run, its fixes those that were asked for."""
    from workshop import fuzz  # noqa: PLC0415 - it needs the package, and Python 3.12

    if flags.fixes:
        fuzz.add_fixes(runpy.run_path(str(flags.fixes)).values())
    return fuzz


class Job:
    """Runs inputs, tells how many, and saves what they find.

    Args:
        module: What is run.
        folder: Where findings are saved.
        until: When to end, on the monotonic clock.
    """

    def __init__(self, module: Any, folder: Path, until: float) -> None:
        self.runs = 0
        self._module = module
        self._folder = folder
        self._until = until
        self._started = self._reported = time.monotonic()
        self._kinds: set[str] = set()

    def run(self, data: bytes) -> None:
        """Run one input."""
        self.runs += 1
        for found in self._module.check(data):
            if found.kind not in self._kinds and len(self._kinds) < ENOUGH:
                self._kinds.add(found.kind)
                self._save(found, data)
        if time.monotonic() - self._reported >= EVERY:
            self.report()

    def report(self) -> None:
        """Print how far this job is."""
        self._reported = time.monotonic()
        took = self._reported - self._started
        pace = f"{self.runs} runs, {self.runs / max(took, 0.1):.0f} runs/s"
        try:
            print(f"{took:5.0f} s: {pace}, {len(self._kinds)} findings", flush=True)
        except OSError:  # nobody listens any more
            os._exit(1)

    def _save(self, found: Any, data: bytes) -> None:
        left = max(min(SHRINKING, self._until - time.monotonic()), 1)
        data = self._module.shrink(data, found.kind, left)
        digest = hashlib.sha256(data).hexdigest()[:8]
        path = self._folder / f"{found.slug}-{digest}.part"
        path.write_bytes(data)
        path.replace(path.with_suffix(".bin"))  # whole, where somebody looks for it


def work(flags: argparse.Namespace) -> None:
    """Run inputs until the time or the number is used up."""
    folder: Path = flags.job
    seconds = flags.seconds or float("inf")
    engine = _by_coverage if has_atheris() else _by_chance
    engine(flags, folder, time.monotonic() + seconds)


def has_atheris() -> bool:
    """Tell whether atheris has a wheel for this Python on this system."""
    return importlib.util.find_spec("atheris") is not None


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


def run(flags: argparse.Namespace) -> int:
    """Run the jobs and return the exit code."""
    seed = flags.seed or random.randrange(1, 2**31)  # noqa: S311
    seconds = flags.seconds or (float("inf") if flags.runs else DEFAULT_SECONDS)
    count = f"{flags.runs} runs" if flags.runs else f"{seconds:g} s"
    engine = "by coverage" if has_atheris() else "by chance: there is no atheris here"
    print(f"{count}, seed {seed}, {engine}", flush=True)
    more = ["--fixes", str(flags.fixes)] if flags.fixes else []
    target(flags)
    from workshop.fuzz import job  # noqa: PLC0415 - it needs the environment

    length = ["--runs", str(flags.runs)] if flags.runs else ["--seconds", str(seconds)]
    return job.run(
        [*more, *length],
        seed,
        time.monotonic() + seconds,
        replays=more,
        reported=tuple(flags.report),
    )


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
    return run(flags)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
