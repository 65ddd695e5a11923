"""What every fix says of itself: for the documents, the commands, and who skips it."""

from importlib import import_module
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


def declared(package: str, names: str) -> tuple[Any, ...]:
    """Return the fixes that modules of a package declare, in their order.

    Args:
        package: The package.
        names: The modules, as `folder.module`. A line that begins with # names a group.
    """
    return tuple(
        _declared(package, module)
        for line in names.splitlines()
        if not line.startswith("#")
        for module in line.split()
    )


def _declared(package: str, module: str) -> Any:
    name = "".join(part.title() for part in module.partition(".")[2].split("_"))
    return getattr(import_module(f".{module}", package), name)
