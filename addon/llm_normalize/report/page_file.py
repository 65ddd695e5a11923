"""The file that a page is written to."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from . import page
from .collected import Collected
from .log_reader import Notes


def write(output: Path, found: Collected, notes: Notes) -> int:
    """Write the page and return its size in bytes.

    Raises:
        OSError: It cannot be written; what was there before is there still.
    """
    output = output.resolve()  # a link stays one
    with _beside(output) as file:
        for part in page.parts(found, notes):
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
