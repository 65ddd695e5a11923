"""The file of the before/after log (pairs log): one writer, rotated by size.

Nothing is written where another user has a hand in: through a link, into a pipe, say.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .private_file import lock

# What is no file must neither be followed nor waited for.
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND
_FLAGS |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FLAGS |= getattr(os, "O_NOCTTY", 0)

_MOST = 1024 * 1024  # bytes in one write: to the system a large one costs little more

OLD_FILES = 4
"""Rotated files that stay: NAME.1 is the newest."""


class LogFile:
    """A file that lines are added to.

    Args:
        path: Where to write; made with its folder (0700) when the first line comes.
        size: Bytes at which it rotates.
        say: Called with a sentence for the user.
    """

    def __init__(self, path: Path, size: int, say: Callable[[str], None]) -> None:
        self.path = self.wanted = path
        self.size = size
        self.shared = False
        """Whether the name is another's by now, who rotates the file."""
        self._say = say
        self._file: int | None = None
        self._lock: int | None = None
        self._lock_path = _lock_of(path)
        self._written = 0
        self._torn = False  # the file ends in half a line

    def append(self, lines: Sequence[bytes]) -> int:
        """Write as many of *lines* as fit in one write, before it rotates, but always one.

        Returns:
            How many.

        Raises:
            OSError: They cannot be written; no half line remains.
        """
        self.let_go()
        limit = sys.maxsize if self.shared else self.size
        if self._file is None or self._written >= limit:
            self._open(limit)
        end, room = len(lines), min(limit - self._written, _MOST)
        if sum(map(len, lines)) > room:
            end, room = 1, room - len(lines[0])
            while end < len(lines) and len(lines[end]) <= room:
                room -= len(lines[end])
                end += 1
        self._write(b"".join(lines[:end]))
        return end

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        if self._torn:
            data = b"\n" + data  # half a line would spoil the next
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            if len(view) < len(data):
                try:
                    os.ftruncate(self._file, self._written)
                except OSError:
                    self._written += len(data) - len(view)
                    self._torn = True
            raise
        self._torn = False
        self._written += len(data)

    def let_go(self) -> None:
        """Close a file that was deleted or moved away: its lines would be lost.

        The name, too, where another writes to it.
        """
        if self.shared and self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._file is not None and _is_gone(self._file, self.path):
            os.close(self._file)
            self._file = None
        if self._lock is not None and _is_gone(self._lock, self._lock_path):
            os.close(self._lock)
            self._lock = None
            if self._file is not None:
                os.close(self._file)
                self._file = None
            self.path = self.wanted

    def _open(self, limit: int) -> None:
        if self._file is None:
            _make_folder(self.path.parent)
        if self._lock is None and not self.shared:
            self._take_free_name()
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._rotate()
        self._file = self._own(self.path)
        self._written = os.fstat(self._file).st_size
        # A crash may end the file in half a line.
        os.lseek(self._file, max(self._written - 1, 0), os.SEEK_SET)
        self._torn = os.read(self._file, 1) not in (b"", b"\n")
        if self._written >= limit:
            os.close(self._file)
            self._file = None
            self._rotate()
            self._file = self._own(self.path)
            self._written = 0
            self._torn = False

    def _own(self, path: Path) -> int:
        """Open the file at *path*, made if need be, which no other user owns.

        Raises:
            OSError: It is something else; the message names the repair.
        """
        try:
            file = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENXIO):
                raise
            raise _refused(path, "it is a link, or no file") from None
        found = os.fstat(file)
        if why := _fault(found, path):
            os.close(file)
            raise _refused(path, why)
        try:
            if stat.S_IMODE(found.st_mode) != 0o600:  # noqa: PLR2004
                _set_mode(file, 0o600)
        except OSError as error:  # a disk without modes
            self._say(f"others may be able to read {path}: {error}")
        return file

    def _take_free_name(self) -> None:
        """Lock the log's name, or the next free one if another instance has it."""
        wanted = self.path
        for number in range(2, 100):
            self._lock_path = _lock_of(self.path)
            lock = self._own(self._lock_path)
            if _locked(lock):
                self._lock = lock
                if self.path != wanted:
                    self._say(
                        f"{wanted} is written by another instance; "
                        f"the pairs log is {self.path}"
                    )
                return
            os.close(lock)
            self.path = wanted.with_stem(f"{wanted.stem}-{number}")
        self.path = wanted
        raise OSError(f"no free name for {wanted}")

    def _rotate(self) -> None:
        names = [self.path, *(_numbered(self.path, at + 1) for at in range(OLD_FILES))]
        for each in filter(Path.is_symlink, names):
            each.unlink()  # not ours; a reader of the log would follow it
        for older, newer in zip(names[:0:-1], names[-2::-1], strict=True):
            if newer.exists():
                newer.replace(older)

    def close(self) -> None:
        """Let go of the file and of its name."""
        for each in (self._file, self._lock):
            if each is not None:
                os.close(each)
        self._file = self._lock = None


def _make_folder(path: Path, *, is_own: bool = True) -> None:
    """Make the folder at *path*, for us alone, or see that it is no risk.

    Args:
        path: The folder.
        is_own: Whether the log itself is in it. Folders above it may be open to a group:
            mitmproxy makes its own with the umask.

    Raises:
        OSError: Others may put files into it; the message names the repair.
    """
    if not path.exists():
        _make_folder(path.parent, is_own=False)
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)  # whatever the umask is
    found = path.stat()
    if not all(_is_ours(each) or each.st_uid == 0 for each in (found, path.lstat())):
        raise _refused(path, "the folder belongs to another user")
    if path.name == "normalize" and _is_ours(found) and found.st_mode & 0o077:
        path.chmod(0o700)
    elif (
        is_own
        and found.st_mode & 0o022
        and not found.st_mode & stat.S_ISVTX
        and os.name != "nt"
    ):
        raise PermissionError(
            f"other users may write to the folder {path}: run chmod go-w {path}, or set "
            "normalize_pairs to a file in a folder of your own"
        )


def _fault(found: os.stat_result, path: Path) -> str:
    """Return why the open file at *path* is not to be written to; nothing if it is."""
    faults = {
        "it is not a regular file": not stat.S_ISREG(found.st_mode),
        "it belongs to another user": not _is_ours(found),
        "the same file has another name, too (a hard link)": found.st_nlink > 1,
        "it is a link": path.is_symlink(),  # where there is no O_NOFOLLOW
    }
    return next((why for why, is_so in faults.items() if is_so), "")


def _refused(path: Path, why: str) -> OSError:
    return PermissionError(
        f"{path} is not written to, {why}: move it away, or set normalize_pairs to a "
        "file in a folder of your own"
    )


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _is_gone(file: int, path: Path) -> bool:
    """Tell whether the open *file* is no longer the one at *path*."""
    try:
        return not os.path.samestat(os.fstat(file), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # unknown: a user who may not look may still write


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


if sys.platform == "win32":  # pragma: no cover

    def _is_ours(_: os.stat_result) -> bool:
        """Take it for ours: owner and mode do not describe the rights there."""
        return True

    def _set_mode(file: int, mode: int) -> None:
        """Do nothing: who may read is not in the mode there."""

else:
    _set_mode = os.fchmod

    def _is_ours(found: os.stat_result) -> bool:
        return found.st_uid == os.geteuid()


def _locked(file: int) -> bool:
    """Try to lock *file* for this process; tell whether it is ours."""
    try:
        lock(file)
    except OSError:
        return False
    return True
