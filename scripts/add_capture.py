"""Make capture folders of saved flows: for a bug report, or as tests of this repository."""

from __future__ import annotations

import argparse
from pathlib import Path

import _bootstrap
from workshop import arguments


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description=(
            "Make a folder of each answer of a model in files of saved flows: "
            "the answer, its repaired form, and the request. Keys, ids, and what a "
            "provider echoes of the request are replaced; the request is not in it."
        ),
        epilog=(
            "example: mitmdump -s addon/normalize.py -w flows; then "
            "python3 scripts/add_capture.py flows -o report --fill. Ends with exit code 1 "
            "if an answer has not the form that OpenAI gives it even when repaired, 3 if "
            "there is nothing to make a folder of. The first start makes the environment "
            "in .venv."
        ),
    )
    parser.add_argument(
        "flows",
        nargs="+",
        type=arguments.file,
        metavar="FLOWS",
        help="a file of mitmproxy's (-w)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("captures"),
        metavar="DIR",
        help="where the folders go (default: captures, here); below "
        "tests/captures/PROVIDER they belong to the suite",
    )
    parser.add_argument(
        "--fill",
        action="store_true",
        help="replace all words by others of the same length",
    )
    return parser.parse_args(given)


def run(flags: argparse.Namespace) -> int:
    """Make the folders and return the exit code."""
    from workshop import capture_flows  # noqa: PLC0415 - it needs what the environment holds

    return capture_flows.run(flags.flows, flags.output, fill=flags.fill)


if __name__ == "__main__":
    _bootstrap.main(parse, run)
