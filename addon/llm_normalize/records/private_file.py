"""Files that their owner alone may read, written as a whole or not at all, and a lock on one."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
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


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def lock(number: int) -> None:
        """Lock the file of that number, as below."""
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                raise BlockingIOError(error.errno, error.strerror) from error
            raise

else:
    import fcntl

    def lock(number: int) -> None:
        """Lock the file of that number, without waiting.

        Raises:
            BlockingIOError: Another one holds it.
            OSError: There are no locks, as on some network file systems.
        """
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
