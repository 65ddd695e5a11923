"""Measure what the addon costs: one run, one table, against mitmproxy without it.

All sides take their turns in every round; the streams are made up here, their provider
and their client are processes of this machine, and nothing is sent beyond it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import _bootstrap

PARTS = ("paced", "burst", "saturation", "latency", "memory", "micro")
SIDES = ("good", "good-pairs", "nim", "nim-pairs", "observe", "json")
ALWAYS = ("direct", "floor")
PEERS = ("flask", "litellm")
QUICK_SIDES = ("good", "nim")
ROUNDS = 6  # even: in a duel, who is asked first takes turns
QUICK_ROUNDS = 2
QUICK_SCALE = 0.25


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description="Measure what the addon costs, against mitmproxy without it.",
        epilog=(
            "Takes some ten minutes; a machine with nothing else to do gives the "
            "narrowest ranges. Ends with exit code 1 if a stream did not arrive as it "
            "had to. The first start makes the environment in .venv."
        ),
    )
    parser.add_argument(
        "--quick", action="store_true", help="small numbers, in about half a minute"
    )
    parser.add_argument(
        "--micro",
        action="store_true",
        help="instead: microseconds per event of each stage and of each fix",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help=f"also measure {' and '.join(PEERS)}; installs them in .venv-clients",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        metavar="NAME",
        help=f"only these parts: {', '.join(PARTS)}",
    )
    parser.add_argument(
        "--sides",
        nargs="+",
        choices=SIDES,
        metavar="NAME",
        help=f"only these sides, beside {' and '.join(ALWAYS)}: {', '.join(SIDES)}",
    )
    parser.add_argument(
        "--other",
        type=Path,
        metavar="FILE",
        help="also measure this addon on NIM's stream: normalize.py of another checkout",
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help=f"how many (default: {ROUNDS})"
    )
    parser.add_argument(
        "--scale",
        type=float,
        metavar="X",
        help="how much of the usual traffic (default: 1)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write what is printed"
    )
    parser.add_argument(
        "--update-docs",
        action="store_true",
        help="write it into addon/docs/performance.md, between its markers",
    )
    flags = parser.parse_args(given)
    complete(flags, parser)
    return flags


def complete(flags: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Fill in what was not given, and refuse what cannot be."""
    if flags.micro and flags.only:
        parser.error("--micro is --only micro: give one of them")
    for name in ("rounds", "scale"):
        value = getattr(flags, name)
        if value is not None and value <= 0:
            parser.error(f"--{name} takes a number above 0, not {value}")
    if flags.other and not flags.other.is_file():
        parser.error(f"there is no file {flags.other}")
    flags.other = flags.other and flags.other.resolve()
    for path in filter(None, (flags.json, flags.markdown)):
        if not path.resolve().parent.is_dir():
            parser.error(f"there is no folder {path.parent}")
    lacks_paced = flags.micro or (flags.only and "paced" not in flags.only)
    if flags.update_docs and (flags.quick or lacks_paced or flags.sides or flags.scale):
        parser.error("--update-docs wants paced streams of all sides, at full scale")
    flags.only = ["micro"] if flags.micro else flags.only or list(PARTS[:-1])
    flags.sides = [
        name
        for name in SIDES
        if name in (flags.sides or (QUICK_SIDES if flags.quick else SIDES))
    ]
    flags.rounds = flags.rounds or (QUICK_ROUNDS if flags.quick else ROUNDS)
    flags.scale = flags.scale or (QUICK_SCALE if flags.quick else 1.0)


def run(flags: argparse.Namespace) -> int:
    """Measure, and return the exit code."""
    from workshop.bench import command  # noqa: PLC0415 - it needs the environment

    return command.main(flags)


if __name__ == "__main__":
    _bootstrap.main(parse, run)
