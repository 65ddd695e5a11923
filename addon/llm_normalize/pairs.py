"""The pairs log: what each repaired event was before and after, as JSON Lines.

Records are handed over as plain tuples and formatted, masked and written in batches by
a thread of their own, so that neither a slow disk nor a full one ever holds a stream.
What cannot be written is counted, and said in the next line that can be.
"""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue

from .line import Record, line

logger = logging.getLogger(__name__)

KEPT = 4
"""Rotated files that stay: NAME.1 is the newest."""

_BATCH_SECONDS = 0.2
_BITE = 64  # lines that are formatted at a stretch: meanwhile no stream can move
_BREATH_SECONDS = 0.0002
_QUEUE_BYTES = 64 * 1024 * 1024


class PairsLog:
    """One pairs log, with its thread.

    Args:
        path: Where to write; made with its folder (0700) when the first record comes.
        size: Bytes at which the file rotates.
        say: Called with a sentence for the user, from the log's own thread.
    """

    def __init__(
        self, path: Path, size: int, say: Callable[[str], None] = logger.warning
    ) -> None:
        self.path = self.wanted = path
        self.size = size
        self._say = say
        self._queue: SimpleQueue[tuple[Record, tuple[str, ...], int] | None] = (
            SimpleQueue()
        )
        # Each counter has one thread that writes it, so that none needs a lock.
        self._handed = 0  # bytes put into the queue, roughly
        self._taken = 0  # bytes taken out of it
        self._refused = 0  # records lost because the queue was full
        self._failed = 0  # records lost because they could not be written
        self._lost_said = 0  # losses that a line of the log tells
        self._said = False
        self._file: int | None = None
        self._lock: int | None = None
        self._written = 0
        self._torn = False  # the file ends in half a line
        self._thread = threading.Thread(
            target=self._run, name="normalize-pairs", daemon=True
        )
        self._thread.start()

    @property
    def lost(self) -> int:
        """Records that could not be written, so far."""
        return self._refused + self._failed

    def write(self, record: Record, secrets: tuple[str, ...] = ()) -> None:
        """Hand *record* over. Never waits, never raises."""
        weight = 256 + len(record.get("before") or b"")
        weight += sum(map(len, record.get("after", ())))
        if self._handed - self._taken + weight > _QUEUE_BYTES:
            self._refused += 1
            return
        self._handed += weight
        self._queue.put((record, secrets, weight))

    def close(self) -> None:
        """Write all that was handed over, and end the thread."""
        self._queue.put(None)
        self._thread.join(timeout=5)

    # -- the thread --------------------------------------------------------------

    def _run(self) -> None:
        open_ = True
        while open_:
            batch = [self._queue.get()]
            if batch[0] is not None:
                # Let a little gather: one write serves many streams.
                threading.Event().wait(_BATCH_SECONDS if self._queue.empty() else 0)
            with contextlib.suppress(Empty):
                while len(batch) < 4096:  # noqa: PLR2004
                    batch.append(self._queue.get_nowait())
            open_ = None not in batch
            records = [each for each in batch if each is not None]
            try:
                self._write(records)
            except Exception:  # nothing may end the thread
                self._failed += len(records)
                with contextlib.suppress(Exception):  # a log handler may be gone
                    logger.exception("pairs log: a batch failed")
            self._taken += sum(weight for *_, weight in records)
        self._close_file()

    def _write(self, batch: list[tuple[Record, tuple[str, ...], int]]) -> None:
        lines = []
        for at, (record, secrets, _) in enumerate(batch):
            if at % _BITE == _BITE - 1:
                time.sleep(_BREATH_SECONDS)
            try:
                lines.append(line(record, secrets))
            except Exception:  # one bad record must not cost its neighbours
                logger.exception("pairs log: a record cannot be written")
                self._failed += 1
        size = len(lines)
        lost = self.lost
        if lost > self._lost_said:
            count = lost - self._lost_said
            if self._refused:
                self._complain("the disk is too slow")
            lines.insert(0, line({"type": "lost", "count": count}))
        start = 0
        while start < len(lines):
            try:
                if self._file is None or self._written >= self.size:
                    self._open()
                # As many lines as fit, but always one.
                end, room = start + 1, self.size - self._written - len(lines[start])
                while end < len(lines) and len(lines[end]) <= room:
                    room -= len(lines[end])
                    end += 1
                self._append(b"".join(lines[start:end]))
            except OSError as error:
                self._failed += min(len(lines) - start, size)
                self._complain(error)
                return
            self._lost_said = lost
            start = end

    def _append(self, data: bytes) -> None:
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

    def _open(self) -> None:
        if self._lock is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._take_free_name()
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._rotate()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        self._file = os.open(self.path, flags, 0o600)
        self._written = os.fstat(self._file).st_size
        # A crash may have left half a line.
        os.lseek(self._file, max(self._written - 1, 0), os.SEEK_SET)
        self._torn = os.read(self._file, 1) not in (b"", b"\n")
        if self._written >= self.size:
            os.close(self._file)
            self._file = None
            self._rotate()
            self._file = os.open(self.path, flags, 0o600)
            self._written = 0
            self._torn = False

    def _take_free_name(self) -> None:
        """Lock the log's name, or the next free one if another instance has it."""
        wanted = self.path
        for number in range(2, 100):
            lock = os.open(
                self.path.with_name(f".{self.path.name}.lock"),
                os.O_RDWR | os.O_CREAT,
                0o600,
            )
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
        names = [self.path, *(_numbered(self.path, at + 1) for at in range(KEPT))]
        for older, newer in zip(names[:0:-1], names[-2::-1], strict=True):
            if newer.exists():
                newer.replace(older)

    def _close_file(self) -> None:
        for each in (self._file, self._lock):
            if each is not None:
                os.close(each)
        self._file = self._lock = None

    def _complain(self, error: OSError | str) -> None:
        if not self._said:
            self._said = True
            try:
                self._say(f"cannot write the pairs log {self.path}: {error}")
            except Exception:
                logger.exception("pairs log: cannot say that it cannot write")


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _locked(file: int) -> bool:
    """Try to lock *file* for this process; tell whether it is ours."""
    try:
        _lock(file)
    except OSError:
        return False
    return True
