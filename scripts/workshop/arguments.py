"""Kinds of arguments of a command line.

Written for Python 3.8, as the scripts are that read one before they have an environment.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number from *least* on."""

    def read(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"takes a number from {least} on")
        return value

    read.__name__ = "int"  # argparse names it where there is no number
    return read


def above_zero(text: str) -> float:
    """Return a number above 0."""
    value = float(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"takes a number above 0, not {text}")
    return value


above_zero.__name__ = "float"  # argparse names it likewise


def file(text: str) -> Path:
    """Return the whole path of a file that is there."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path.resolve()
