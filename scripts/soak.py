"""Let seeded traffic with quirks and faults run for minutes, and require that all is well."""

from __future__ import annotations

import argparse
import random

import _bootstrap
from workshop import arguments

MINUTES = 1.0


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description=(
            "Send streams with all known quirks through a real mitmdump with the "
            "addon, while providers and clients break off, stall and misbehave, and the "
            "addon is reloaded. Requires of each stream the content "
            "that its seed yields, of the pairs log one record for each, of mitmdump "
            "that its memory stays flat and nothing is left over."
        ),
        epilog=(
            "The same seed gives the same streams. Ends with exit code 1 if anything "
            "was wrong, and tells the command that repeats it. Needs Linux (/proc). The "
            "first start makes the environment in .venv."
        ),
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--minutes",
        type=arguments.above_zero,
        default=MINUTES,
        metavar="N",
        help=f"how long (default: {MINUTES:g})",
    )
    length.add_argument(
        "--sessions",
        type=arguments.at_least(1),
        metavar="N",
        help="how many sessions instead",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="of the dice; drawn and printed if missing",
    )
    length.add_argument(
        "--only",
        type=arguments.at_least(0),
        metavar="K",
        help="run session K alone, without reloads meanwhile",
    )
    flags = parser.parse_args(given)
    if flags.only is not None and flags.seed is None:
        parser.error("--only goes with --seed")
    if flags.seed is None:
        flags.seed = random.randrange(10**6)
    return flags


def run(flags: argparse.Namespace) -> int:
    """Run it, tell the figures, and return the exit code."""
    from workshop import child  # noqa: PLC0415 - it needs the environment

    return child.measured(lambda: _run(flags))


def _run(flags: argparse.Namespace) -> int:
    from workshop.soak import command as traffic_soak  # noqa: PLC0415 - it needs the environment
    from workshop.soak import figures as traffic_soak_figures  # noqa: PLC0415

    print(f"seed {flags.seed}", flush=True)
    asked = traffic_soak.Asked(
        flags.seed, flags.minutes * 60, flags.sessions, flags.only
    )
    figures = traffic_soak.run(asked)
    print(traffic_soak_figures.as_text(figures))
    if not figures.good:
        lengths = {"only": flags.only, "sessions": flags.sessions}
        given = [f"--{name} {n}" for name, n in lengths.items() if n is not None]
        length = given[0] if given else f"--minutes {flags.minutes:g}"
        print(f"again: python3 scripts/soak.py --seed {flags.seed} {length}")
    return int(not figures.good)


if __name__ == "__main__":
    _bootstrap.main(parse, run)
