"""What was read, as one line."""

from ..text.printable import escaped
from .collected import Collected
from .figures import counted
from .group import ranked
from .log_reader import Notes


def heading(found: Collected, notes: Notes) -> str:
    """Return how many answers of what time, and what could not be read."""
    flows = sum(group.flows for group in found.groups.values())
    parts = [f"{counted(flows, 'answer')} in {counted(len(notes.files), 'file')}"]
    if found.since:
        parts.append(f"{found.since} to {found.until}")
    protocols = found.overall().protocols
    if protocols:
        named = ", ".join(f"{name} {count:,}" for name, count in ranked(protocols))
        parts.append(f"translated: {named}")
    for count, what in (
        (notes.lost, "lost line"),
        (notes.torn, "torn end"),
        (notes.unreadable, "unreadable line"),
    ):
        parts += [counted(count, what)] if count else []
    return escaped("; ".join(parts))
