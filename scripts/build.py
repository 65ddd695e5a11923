"""Build what is handed out: wheel, sdist, and a zip for mitmproxy's standalone binary."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import _bootstrap


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="build.py",
        allow_abbrev=False,
        description="Build the wheel, the sdist and the zip of addon/, and print their "
        "sizes and SHA-256.",
        epilog="The same commit gives the same bytes: all times are the commit's, or "
        "SOURCE_DATE_EPOCH where that is set. Ends with 1 where something fails. The "
        "first start makes the environment in .venv.",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=_bootstrap.ROOT / "dist",
        metavar="FOLDER",
        help="where to, made if missing (default: dist); files of the same name are "
        "replaced",
    )
    return parser.parse_args(given)


def run(flags: argparse.Namespace) -> int:
    """Build, and return the exit code."""
    from workshop.release import files as build_files  # noqa: PLC0415 - it needs the environment

    if isinstance(sys.stdout, io.TextIOWrapper):  # no letter ends it half-way
        sys.stdout.reconfigure(errors="replace")
    return build_files.run(flags.output)


if __name__ == "__main__":
    _bootstrap.main(parse, run)
