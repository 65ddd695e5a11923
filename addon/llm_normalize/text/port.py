"""A port, as a command line has it.

Read on Python 3.8, too, before a checkout has its environment: see scripts/run.py.
"""

from __future__ import annotations

import argparse
import re

_DIGITS = re.compile("[0-9]{1,5}")


def port(text: str) -> int:
    """Return the port that an argument names.

    Raises:
        ArgumentTypeError: It is none; argparse says so, and ends with 2.
    """
    if not (_DIGITS.fullmatch(text) and 1 <= int(text) <= 65535):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text}: a port is a number from 1 to 65535")
    return int(text)


def add_port(
    parser: argparse.ArgumentParser,
    does: str = "where the proxy listens on this machine (default: 8080)",
    *more: str,
) -> None:
    """Add the option for the port to *parser*.

    Args:
        parser: The parser.
        does: What the port is.
        more: Other names of the option.
    """
    parser.add_argument(
        "-p",
        "--port",
        *more,
        type=port,
        default=8080,
        help=does,
    )
