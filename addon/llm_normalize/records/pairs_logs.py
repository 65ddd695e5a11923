"""The pairs logs of one addon: the one that is written now, and those of former paths."""

import logging
from pathlib import Path

from .pairs_log import PairsLog

logger = logging.getLogger(__name__)


class PairsLogs:
    """A log for each path; one that answers still write to stays open.

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
        log.size = size
        self.current = log

    def share(self) -> None:
        """Leave the names to the logs of an addon that is loaded next."""
        for log in self._by_path.values():
            log.share()

    def close(self) -> None:
        """Write all that was handed over, and end the threads."""
        for log in self._by_path.values():
            log.close()
