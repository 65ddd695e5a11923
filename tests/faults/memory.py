"""How much memory a process has taken at its highest (Linux)."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from workshop.traffic.memory import MIB, weigh


@contextlib.contextmanager
def bounded(process: int, limit: int) -> Iterator[None]:
    """See that *process* does not take *limit* more bytes meanwhile, at any moment."""
    # proc_pid_clear_refs(5): 5 resets the peak to what is resident now.
    Path(f"/proc/{process}/clear_refs").write_text("5", encoding="ascii")
    before = weigh(process).rss
    yield
    taken = weigh(process).peak - before
    assert taken < limit, f"{taken / MIB:.0f} MiB were taken"
