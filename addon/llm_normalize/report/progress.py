"""How far the reading has come, on stderr where that is a terminal."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO

from ..text.printable import counted
from . import figures as text
from . import log_reader as reader

_EVERY = 0.2  # seconds
_LOOK = 500  # records between two looks at the clock


def followed(
    records: Iterable[reader.Record],
    files: int,
    notes: reader.Notes,
    out: TextIO | None = None,
) -> Iterator[reader.Record]:
    """Yield *records*, and show on the terminal how far that is."""
    out = sys.stderr if out is None else out
    if not out.isatty():
        yield from records
        return
    last_report = 0.0
    number = 0
    begun = time.monotonic()
    try:
        for number, record in enumerate(records, 1):
            yield record
            if number % _LOOK:
                continue
            now = time.monotonic()
            if now - max(last_report, begun) >= _EVERY:
                last_report = now
                _say(out, f"{_state(number, files, notes)}")
    finally:
        if last_report:
            _say(out, "")


def _state(number: int, files: int, notes: reader.Notes) -> str:
    return (
        f"file {len(notes.files)} of {files}, {text.size(notes.size)}, "
        f"{counted(number, 'record')}"
    )


def _say(out: TextIO, words: str) -> None:
    out.write(f"\r\x1b[K{words}")
    out.flush()
