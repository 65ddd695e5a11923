"""Read the logs once, and tell what they say in the form that was asked for."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from . import log_reader as reader
from . import as_json as report_json
from . import page as report_page
from . import progress as report_progress
from . import terminal as report_terminal
from . import rendering as text
from .collected import Collected, collected


def run(paths: list[Path], output: Path | None, *, json: bool) -> int:
    """Tell what *paths* say and return the exit code.

    Raises:
        LogError: One of them cannot be read.
        BrokenPipeError: Nobody reads stdout any more.
    """
    notes = reader.Notes()
    records = reader.read(paths, notes)
    found = collected(report_progress.followed(records, len(paths), notes))
    if output is not None:
        try:
            size = write(output, found, notes)
        except OSError as error:
            why = error.strerror or error
            print(f"report.py: cannot write {output}: {why}", file=sys.stderr)
            return 1
        told = sys.stderr if json else sys.stdout
        print(f"{reader.printable(str(output))}: {text.size(size)}", file=told)
    if json:
        print(report_json.as_json(found, notes))
    elif output is None:
        for line in report_terminal.summary(found, notes):
            print(line)
    sys.stdout.flush()
    return 0


def write(output: Path, found: Collected, notes: reader.Notes) -> int:
    """Write the page and return its size in bytes.

    Raises:
        OSError: It cannot be written; what was there before is there still.
    """
    output = output.resolve()  # a link stays one
    with _beside(output) as file:
        for part in report_page.parts(found, notes):
            file.write(part.encode())
        return file.tell()


@contextlib.contextmanager
def _beside(output: Path) -> Iterator[IO[bytes]]:
    """Give a file that takes the place of *output* once it is whole, and not before.

    Its owner alone can read it: a model's words are in it.
    """
    number, name = tempfile.mkstemp(prefix=".report-", dir=output.parent)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
        os.replace(name, output)  # noqa: PTH105 - mkstemp gives a text
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
