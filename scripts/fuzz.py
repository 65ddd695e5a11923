"""Look for bytes that break a promise: what is checked is in workshop/fuzz.

Begins with the inputs in tests/fuzz, each of which broke a promise once, and goes on
with mutated answers, drawn by `--seed`.

Led by coverage where atheris has wheels; elsewhere the same mutations are drawn by chance.
The job is a process, which saves the input of each finding once, and goes on.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
from pathlib import Path

import _bootstrap
from workshop import arguments

DEFAULT_SECONDS = 60
DEFAULT_SEED = 1


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
        "--replay",
        type=arguments.file,
        metavar="FILE",
        help="run one saved input and explain it",
    )
    # What the job gets: the folder for its findings.
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def has_atheris() -> bool:
    """Tell whether atheris has a wheel for this Python on this system."""
    return importlib.util.find_spec("atheris") is not None


def work(flags: argparse.Namespace) -> None:
    """Run inputs until the time or the number is used up, in the job."""
    if not has_atheris():
        from workshop.fuzz import engine  # noqa: PLC0415 - it needs Python 3.12

        engine.by_chance(flags)
        return
    import atheris  # noqa: PLC0415 - only this environment has it

    with atheris.instrument_imports(include=["llm_normalize"]):
        from workshop.fuzz import engine  # noqa: PLC0415
    engine.by_coverage(flags, atheris)


def run(flags: argparse.Namespace) -> int:
    """Run the jobs and return the exit code."""
    seed = flags.seed or random.randrange(1, 2**31)  # noqa: S311
    seconds = flags.seconds or (float("inf") if flags.runs else DEFAULT_SECONDS)
    count = f"{flags.runs} runs" if flags.runs else f"{seconds:g} s"
    engine = "by coverage" if has_atheris() else "by chance: there is no atheris here"
    print(f"{count}, seed {seed}, {engine}", flush=True)
    from workshop.fuzz import job  # noqa: PLC0415 - it needs the environment

    length = ["--runs", str(flags.runs)] if flags.runs else ["--seconds", str(seconds)]
    return job.run(
        length, seed, time.monotonic() + seconds, reported=tuple(flags.report)
    )


def replay(flags: argparse.Namespace) -> int:
    """Run one input, explain it, and return the exit code."""
    from workshop.fuzz.cases import Case  # noqa: PLC0415 - it needs the environment
    from workshop.fuzz.checks import check  # noqa: PLC0415

    data = flags.replay.read_bytes()
    print(Case.read(data).describe())
    found = check(data)
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
