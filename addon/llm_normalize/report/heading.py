"""What was read, as one line."""

from ..text.printable import escaped
from .collected import Collected
from .figures import counted
from .log_reader import Notes


def heading(found: Collected, notes: Notes) -> str:
    """Return how many answers of what time, and what could not be read."""
    overall = found.overall()
    files = counted(len(notes.files), "file")
    parts = [f"{counted(overall.flows, 'answer')} in {files}"]
    if overall.errors:
        parts.append(f"errors by status: {overall.failed}")
    if found.since:
        parts.append(f"{found.since} to {found.until}")
    if overall.translated:
        parts.append(f"translated: {overall.translated}")
    for count, what in (
        (notes.lost, "lost line"),
        (notes.torn, "torn end"),
        (notes.unreadable, "unreadable line"),
    ):
        parts += [counted(count, what)] if count else []
    return escaped("; ".join(parts))
