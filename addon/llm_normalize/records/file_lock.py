"""A lock on an open file, which goes with the process, however that ends."""

import errno
import sys

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
