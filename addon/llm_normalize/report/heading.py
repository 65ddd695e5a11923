"""What was read, as one line."""

from ..text.printable import escaped
from .collected import Collected
from .figures import counted
from .log_reader import Notes


def heading(found: Collected, notes: Notes) -> str:
    """Return how many answers of what time, and what could not be read."""
    flows = sum(group.flows for group in found.groups.values())
    parts = [f"{counted(flows, 'answer')} in {counted(len(notes.files), 'file')}"]
    if found.since:
        parts.append(f"{found.since} to {found.until}")
    if translated := found.overall().translated:
        parts.append(f"translated: {translated}")
    for count, what in (
        (notes.lost, "lost line"),
        (notes.torn, "torn end"),
        (notes.unreadable, "unreadable line"),
    ):
        parts += [counted(count, what)] if count else []
    return escaped("; ".join(parts))
