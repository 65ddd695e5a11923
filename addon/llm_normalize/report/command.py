"""`llm-normalize report`: what before/after logs say, as text, a page or JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..text.console import say
from ..text.printable import escaped

PROG = "llm-normalize report"
DEFAULT = "~/.mitmproxy/normalize"
"""The folder of logs where no option says otherwise."""
EXAMPLES = """examples:
  llm-normalize report                        what mitmproxy's own folder has
  llm-normalize report -o report.html         the same as a page, with charts
  llm-normalize report /var/log/pairs*.jsonl.gz -o report.html
  llm-normalize report FOLDER --json | jq .fixes

A log may still be written, be rotated or gzipped. The page needs no network and runs no
script. The model's words are in it, as they are in the log: only you can read the file.
Ends with 1 where something cannot be read or written, and with 2 for a bad argument.
"""
FORMATS = ("text", "json")


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        description="Sum up before/after logs: what each provider and model gets wrong, "
        "when, how fast they answer, and what broke off.",
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
        "--format",
        choices=FORMATS,
        help="what to print: what is most important as text, or all of it as one JSON "
        "object (default: text, or nothing beside a page)",
    )
    parser.add_argument(
        "--json",
        action="store_const",
        dest="format",
        const="json",
        help="the same as --format json",
    )
    flags = parser.parse_args(given)
    if flags.output is not None:
        problem = unfit(flags.output)
        if problem:
            parser.error(f"-o {flags.output}: {problem}")
    return flags


def unfit(output: Path) -> str:
    """Why no page can be written to *output*; empty if it can, as it seems."""
    try:
        if output.is_dir():
            return "it is a folder"
        if output.exists() and not output.is_file():
            return "it is not a regular file"
        if not output.parent.is_dir():
            return f"there is no folder {output.parent}"
    except OSError as error:  # a name that is too long, say
        return error.strerror or str(error)
    return ""


def main(given: Sequence[str]) -> int:
    """Do what the command line asks for and return the exit code."""
    flags = parse(given)
    # Here, since it needs what parse does not: see scripts/run.py.
    from .log_reader import LogError, find  # noqa: PLC0415

    try:
        paths = find(flags.logs)
        if flags.output is not None and flags.output.resolve() in paths:
            say(f"{PROG}: -o {flags.output}: it is one of the logs")
            return 2
        return _report(paths, flags.output, flags.format)
    except LogError as error:
        say(f"{PROG}: {escaped(str(error))}")
        return 1


def _report(paths: list[Path], output: Path | None, form: str | None) -> int:
    from .as_json import as_json  # noqa: PLC0415 - likewise
    from .as_text import as_text  # noqa: PLC0415 - likewise
    from .collected import collected  # noqa: PLC0415 - likewise
    from .figures import size  # noqa: PLC0415 - likewise
    from .log_reader import Notes, read  # noqa: PLC0415 - likewise
    from .page import write  # noqa: PLC0415 - likewise

    notes = Notes()
    found = collected(read(paths, notes))
    if output is not None:
        try:
            written = write(output, found, notes)
        except OSError as error:
            say(f"{PROG}: cannot write {output}: {error.strerror or error}")
            return 1
        line = f"{escaped(str(output))}: {size(written)}"
        print(line, file=sys.stderr if form else sys.stdout)
    if form or output is None:
        for line in (
            [as_json(found, notes)] if form == "json" else as_text(found, notes)
        ):
            print(line)
    sys.stdout.flush()
    return 0
