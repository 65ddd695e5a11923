"""Measure what the addon costs: one run, one table, against mitmproxy without it.

Each side runs beside mitmproxy alone in every round; provider and client are threads of
this process, and nothing is sent beyond the machine.
"""

from __future__ import annotations

import argparse

import _bootstrap
from workshop import arguments

LINES = ("good", "nim", "nim-pairs", "observe", "recorded")
ROUNDS = 6  # even: who is asked first takes turns
QUICK_ROUNDS = 2


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description="Measure what the addon costs, against mitmproxy without it.",
        epilog=(
            "Takes some fifteen minutes; a machine with nothing else to do gives the "
            "narrowest ranges. Recorded streams come from the folder that LLM_CAPTURES "
            "names, else from tests/captures, where they are short. Ends with exit code "
            "1 if a stream did not arrive as it had to. Needs Linux (/proc). The first start makes the "
            "environment in .venv."
        ),
    )
    parser.add_argument(
        "--quick", action="store_true", help="small numbers, in about two minutes"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=LINES,
        metavar="NAME",
        help=f"only these lines of the table: {', '.join(LINES)}",
    )
    parser.add_argument(
        "--rounds",
        type=arguments.at_least(1),
        metavar="N",
        help=f"how many (default: {ROUNDS})",
    )
    parser.add_argument(
        "--update-docs",
        action="store_true",
        help="write the table into addon/docs/performance.md, between its markers",
    )
    flags = parser.parse_args(given)
    complete(flags, parser)
    return flags


def complete(flags: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Fill in what was not given, and refuse what cannot be."""
    if flags.update_docs and (flags.quick or flags.only):
        parser.error("--update-docs wants all lines at full scale")
    flags.only = [name for name in LINES if name in (flags.only or LINES)]
    flags.rounds = flags.rounds or (QUICK_ROUNDS if flags.quick else ROUNDS)


def run(flags: argparse.Namespace) -> int:
    """Measure, and return the exit code."""
    from workshop.bench import command  # noqa: PLC0415 - it needs the environment

    return command.main(flags)


if __name__ == "__main__":
    _bootstrap.main(parse, run)
