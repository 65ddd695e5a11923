"""How much memory a process has taken at its highest (Linux)."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

MIB = 1024 * 1024


def _status(process: int, field: str) -> int:
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    assert found, f"no {field} in:\n{text}"
    return int(found[1]) * 1024


@contextlib.contextmanager
def bounded(process: int, limit: int) -> Iterator[None]:
    """See that *process* does not take *limit* more bytes meanwhile, at any moment."""
    # proc_pid_clear_refs(5): 5 resets the peak to what is resident now.
    Path(f"/proc/{process}/clear_refs").write_text("5", encoding="ascii")
    before = _status(process, "VmRSS")
    yield
    taken = _status(process, "VmHWM") - before
    assert taken < limit, f"{taken / MIB:.0f} MiB were taken"
