"""What every fix says of itself: for the documents, the commands, and who skips it."""

from types import ModuleType
from typing import Any, ClassVar


class Declaration:
    """One quirk and its repair, in words."""

    name: ClassVar[str]
    """`<field>-<defect>`; users skip it by this name, so it is never renamed."""
    changes: ClassVar[str]
    """The change, as `field: before -> after`."""
    why: ClassVar[str]
    """Which clients the quirk breaks, and how."""
    providers: ClassVar[tuple[str, ...]]
    """Which providers send it."""
    sources: ClassVar[tuple[str, ...]]
    """Where it was reported: issues, specifications, vendors' pages."""
    also_covered_by: ClassVar[tuple[str, ...]] = ()
    """Other fixes that still repair this quirk when this fix is skipped.

    To keep the quirk, skip them too.
    """
    examples: ClassVar[tuple[Any, ...]]


def declared_in(module: ModuleType) -> list[Any]:
    """The declarations that a module makes, in their order."""
    found = (each for each in vars(module).values() if isinstance(each, type))
    return [each for each in found if each.__module__ == module.__name__]
