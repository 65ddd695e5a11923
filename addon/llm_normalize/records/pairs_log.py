"""The pairs log: what each repaired event was before and after, as JSON Lines.

Records are handed over as plain tuples and formatted, masked and written in batches by
a thread of their own, so that neither a slow disk nor a full one ever holds a stream.
What cannot be written is counted, and reported in the next line that can be.
"""

import atexit
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue

from .log_file import LogFile
from .record_line import Entry, TextPair, line

logger = logging.getLogger(__name__)

_BATCH_SECONDS = 0.2
_BATCH = 4096  # lines that are taken together
_BITE = 32  # lines that are made together
_BREATH_SECONDS = 0.002
_MOST = 1024 * 1024  # bytes of lines that wait for those after them
_QUEUE_BYTES = 64 * 1024 * 1024
_WEIGHT = 256  # bytes of a record beside its blocks, roughly
_WAKE = Entry({}), 0
"""What is no entry: the thread looks up."""

type _Weighed = tuple[Entry | TextPair, int]
"""An entry, and roughly how many bytes it takes."""


class PairsLog:
    """One pairs log, with its thread.

    Args:
        path: Where to write; made with its folder (0700) when the first record comes.
        size: Bytes at which the file rotates.
        say: Called with a sentence for the user, from the log's own thread.

    Attributes:
        file: Where it is written; the size at which that rotates may be set anew.
    """

    def __init__(
        self, path: Path, size: int, say: Callable[[str], None] = logger.warning
    ) -> None:
        self.file = LogFile(path, size, say)
        self._say = say
        self._queue: SimpleQueue[_Weighed] = SimpleQueue()
        # Each counter has one thread that writes it, so that none needs a lock.
        self._handed = 0  # bytes put into the queue, roughly
        self._taken = 0  # bytes taken out of it
        self._refused = 0  # records lost because the queue was full
        self._failed = 0  # records lost because they could not be written
        self._lost_reported = 0  # losses that a line of the log reports
        self._is_reported = False
        self._closed = False
        self._thread = threading.Thread(
            target=self._run, name="normalize-pairs", daemon=True
        )
        self._thread.start()
        atexit.register(self.close)  # however mitmproxy comes to its end

    @property
    def lost(self) -> int:
        """Records that could not be written, so far."""
        return self._refused + self._failed

    def write(self, entry: Entry | TextPair) -> None:
        """Hand *entry* over. Never waits, never raises."""
        weight = _weight(entry)
        if self._handed - self._taken + weight > _QUEUE_BYTES:
            self._refused += 1
            return
        self._handed += weight
        self._queue.put((entry, weight))

    def close(self) -> None:
        """Write all that was handed over, and end the thread."""
        self._closed = True
        self._queue.put(_WAKE)
        self._thread.join(timeout=5)
        atexit.unregister(self.close)

    def share(self) -> None:
        """Leave the name to a log that comes after this one, in the same process.

        What is still handed over goes to the same file.
        """
        self.file.shared = True
        self._queue.put(_WAKE)

    # -- the thread --------------------------------------------------------------

    def _run(self) -> None:
        while not (self._closed and self._queue.empty()):
            batch = [self._queue.get()]
            gather = batch[0] is not _WAKE and not self._closed
            if gather and self._queue.empty():
                # Let a little gather: one write serves many streams.
                time.sleep(_BATCH_SECONDS)
            more = min(self._queue.qsize(), _BATCH)  # none but this thread takes any
            batch += [self._queue.get_nowait() for _ in range(more)]
            try:
                self._write([entry for entry, _ in batch if entry is not _WAKE[0]])
            except Exception:  # nothing may end the thread
                self._failed += len(batch)
                with contextlib.suppress(Exception):  # a log handler may be gone
                    logger.exception("pairs log: a batch failed")
            self._taken += sum([weight for _, weight in batch])
            batch.clear()  # it has keys of requests, and the next one may be long in coming
        self.file.close()

    def _write(self, batch: Sequence[Entry | TextPair]) -> None:
        if not batch:  # else whatever is appended does that
            self.file.let_go()
        # No stream can move while lines are made: it would wait for each thing that it reads
        # or writes. So that is done by turns, unless many pile up, or mitmproxy waits for the
        # last of them.
        lines, size = list[bytes](), 0
        for at, entry in enumerate(batch):
            is_turn = at > 0 and at % _BITE == 0
            if is_turn and not self._closed and self._queue.qsize() < _BATCH:
                time.sleep(_BREATH_SECONDS)
            try:
                lines.append(line(entry))
                size += len(lines[-1])
            except Exception:  # one bad entry must not cost its neighbours
                logger.exception("pairs log: an entry cannot be written")
                self._failed += 1
            if size > _MOST:
                self._append(lines)
                lines, size = [], 0
        self._append(lines)

    def _append(self, lines: list[bytes]) -> None:
        size = len(lines)
        lost = self.lost
        if lost > self._lost_reported:
            count = lost - self._lost_reported
            if self._refused:
                self._complain("the disk is too slow")
            lines.insert(0, line(Entry({"type": "lost", "count": count})))
        while lines:
            try:
                lines = lines[self.file.append(lines) :]
            except OSError as error:
                self._failed += min(len(lines), size)
                self._complain(error)
                return
            self._lost_reported = lost

    def _complain(self, error: OSError | str) -> None:
        if not self._is_reported:
            self._is_reported = True
            try:
                self._say(f"cannot write the pairs log {self.file.path}: {error}")
            except Exception:
                logger.exception("pairs log: a failed write cannot be reported")


def _weight(entry: Entry | TextPair) -> int:
    """How many bytes *entry* takes, roughly."""
    if isinstance(entry, tuple):
        return _WEIGHT + len(entry[3])
    record = entry.record
    blocks = (record.get("before") or b"", *record.get("after", ()))
    return _WEIGHT + sum(map(len, blocks))


class PairsLogs:
    """The logs of one addon, one for each path; one that answers still write to stays open.

    Attributes:
        current: The log that new answers write to; None until the first one needs it.
    """

    def __init__(self) -> None:
        self.current: PairsLog | None = None
        self._by_path: dict[Path, PairsLog] = {}

    def begin(self, path: Path, size: int) -> None:
        """Let new answers write to the log at *path*, which rotates at *size* bytes."""
        log = self._by_path.get(path)  # the option may have changed back
        if log is None:
            log = self._by_path[path] = PairsLog(
                path, size, lambda text: logger.warning("normalize: %s", text)
            )
        log.file.size = size
        self.current = log

    def share(self) -> None:
        """Leave the names to the logs of an addon that is loaded next."""
        for log in self._by_path.values():
            log.share()

    def close(self) -> None:
        """Write all that was handed over, and end the threads."""
        for log in self._by_path.values():
            log.close()
