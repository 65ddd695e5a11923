"""The pairs log: what each repaired event was before and after, as JSON Lines.

Records are handed over as plain tuples and formatted, masked and written in batches by
a thread of their own, so that neither a slow disk nor a full one ever holds a stream.
What cannot be written is counted, and said in the next line that can be.
"""

import atexit
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue

from .line import Known, Record, line
from .logfile import LogFile

logger = logging.getLogger(__name__)

_BATCH_SECONDS = 0.2
_BITE = 64  # lines that are formatted at a stretch: meanwhile no stream can move
_BREATH_SECONDS = 0.0002
_QUEUE_BYTES = 64 * 1024 * 1024
_WAKE: tuple[Record | Known, tuple[str, ...], int] = ({}, (), 0)
"""A record that is none: the thread looks up."""


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
        self.wanted = path
        self._file = LogFile(path, size, say)
        self._say = say
        self._queue: SimpleQueue[tuple[Record | Known, tuple[str, ...], int] | None] = (
            SimpleQueue()
        )
        # Each counter has one thread that writes it, so that none needs a lock.
        self._handed = 0  # bytes put into the queue, roughly
        self._taken = 0  # bytes taken out of it
        self._refused = 0  # records lost because the queue was full
        self._failed = 0  # records lost because they could not be written
        self._lost_said = 0  # losses that a line of the log tells
        self._said = False
        self._thread = threading.Thread(
            target=self._run, name="normalize-pairs", daemon=True
        )
        self._thread.start()
        atexit.register(self.close)  # however mitmproxy comes to its end

    @property
    def path(self) -> Path:
        """Where it is written: where it was wanted, or at the next free name."""
        return self._file.path

    @property
    def size(self) -> int:
        """Bytes at which the file rotates; may be set anew."""
        return self._file.size

    @size.setter
    def size(self, size: int) -> None:
        self._file.size = size

    @property
    def lost(self) -> int:
        """Records that could not be written, so far."""
        return self._refused + self._failed

    def write(self, record: Record | Known, secrets: tuple[str, ...] = ()) -> None:
        """Hand *record* over. Never waits, never raises."""
        if isinstance(record, tuple):
            weight = 256 + len(record[4]) + len(record[5])
        else:
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
        atexit.unregister(self.close)

    def share(self) -> None:
        """Leave the name to a log that comes after this one, in the same process.

        What is still handed over goes to the same file.
        """
        self._file.shared = True
        self._queue.put(_WAKE)

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
            records = [each for each in batch if each is not None and each is not _WAKE]
            try:
                self._write(records)
            except Exception:  # nothing may end the thread
                self._failed += len(records)
                with contextlib.suppress(Exception):  # a log handler may be gone
                    logger.exception("pairs log: a batch failed")
            self._taken += sum(weight for *_, weight in records)
        self._file.close()

    def _write(self, batch: list[tuple[Record | Known, tuple[str, ...], int]]) -> None:
        self._file.let_go()
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
        while lines:
            try:
                lines = lines[self._file.append(lines) :]
            except OSError as error:
                self._failed += min(len(lines), size)
                self._complain(error)
                return
            self._lost_said = lost

    def _complain(self, error: OSError | str) -> None:
        if not self._said:
            self._said = True
            try:
                self._say(f"cannot write the pairs log {self.path}: {error}")
            except Exception:
                logger.exception("pairs log: cannot say that it cannot write")
