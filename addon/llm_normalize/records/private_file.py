"""Files that their owner alone may read, written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write(path: Path, text: str | bytes) -> None:
    """Put *text* into the place of *path*, a link too; return when it is on disk.

    Raises:
        OSError: It cannot be written; what was there stays.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.unlink(missing_ok=True)
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(number)
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    sync(path.parent)


def sync(folder: Path) -> None:
    """Make sure that a name in *folder* outlives a loss of power, where that is possible."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
