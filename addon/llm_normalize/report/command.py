"""Tell what before/after logs say: on the terminal, as one HTML page, or as JSON."""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path

from . import log_reader as reader
import _bootstrap
from .pairs import DEFAULT

EXAMPLES = """examples:
  python3 scripts/report.py                        what mitmproxy's own folder has
  python3 scripts/report.py -o report.html         the same as a page, with charts
  python3 scripts/report.py /var/log/pairs*.jsonl.gz -o report.html
  python3 scripts/report.py FOLDER --json | jq .fixes

A log may still be written, be rotated or gzipped. The page needs no network and runs no
script. The model's words are in it, as they are in the log: only you can read the file.
Ends with 1 where something cannot be read or written, and with 2 for a bad argument. The
first start makes the environment in .venv.
"""


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="report.py",
        allow_abbrev=False,
        description="Tell what before/after logs say: what each provider and model gets "
        "wrong, when, how fast they answer, and what broke off.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "logs",
        nargs="*",
        default=[DEFAULT],
        metavar="PAIRS",
        help="a log (its rotated files come along), a pattern, or a folder that is "
        f"searched for logs (default: {DEFAULT})",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write all of it there, as one HTML page",
    )
    parser.add_argument(
        "--json", action="store_true", help="print all of it as one JSON object"
    )
    flags = parser.parse_args(given)
    if flags.output is not None:
        problem = unfit(flags.output)
        if problem:
            parser.error(f"-o {flags.output}: {problem}")
    return flags


def unfit(output: Path) -> str:
    """Return why no report can be written to *output*; empty if it can, as it seems."""
    try:
        if output.is_dir():
            return "it is a folder"
        if output.exists() and not output.is_file():
            return "it is no regular file"
        if not output.parent.is_dir():
            return f"there is no folder {output.parent}"
    except OSError as error:  # a name that is too long, say
        return error.strerror or str(error)
    return ""


def main() -> int:
    """Do what the command line asks for and return the exit code."""
    flags = parse()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console may lack a model's letters
        sys.stdout.reconfigure(errors="replace")
    try:
        paths = reader.find(flags.logs)
        if flags.output is not None and flags.output.resolve() in paths:
            print(
                f"report.py: -o {flags.output}: it is one of the logs",
                file=sys.stderr,
            )
            return 2
        _bootstrap.ensure()
        sys.path.insert(0, str(_bootstrap.ROOT / "addon"))
        from . import session as report_main  # noqa: PLC0415 - it needs the environment

        return report_main.run(paths, flags.output, json=flags.json)
    except reader.LogError as error:
        print(f"report.py: {reader.printable(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # into `head`: Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
