"""Text between two tags, in a text that comes in parts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tags:
    """What begins and what ends a passage.

    Attributes:
        open: The tag before it.
        close: The tag behind it.
        first: Whether it counts at the begin of the text alone, and leaves as it comes.
    """

    open: str
    close: str
    first: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a text has come to.

    Attributes:
        held: What waits: maybe a tag, or the passage behind one.
        inside: Whether the opening tag was there.
        over: Whether no passage can follow.
    """

    held: str = ""
    inside: bool = False
    over: bool = False


type Parts = list[tuple[bool, str]]
"""Texts in order, and whether each was between the tags."""


def read(at: Passage, tags: Tags, text: str) -> tuple[Parts, Passage]:
    """Return what leaves of a *text* that goes on, and where it has come to."""
    parts: Parts = []
    rest = at.held + text
    while rest and not at.over:
        tag = tags.close if at.inside else tags.open
        before, found, behind = rest.partition(tag)
        if tags.first and not at.inside and (before.strip() or not found):
            if found or not tag.startswith(rest.lstrip()):
                at = replace(at, over=True)
                break
            return parts, replace(at, held=rest)
        if not found:
            waits = 0 if at.inside and not tags.first else len(rest) - _begun(rest, tag)
            parts += [(at.inside, rest[:waits])] if waits else []
            return parts, replace(at, held=rest[waits:])
        parts += [(at.inside, before)] if before or at.inside else []
        over = at.inside and tags.first
        at, rest = Passage(inside=not at.inside, over=over), behind
    return [*parts, *([(False, rest)] if rest else [])], replace(at, held="")


def waiting(at: Passage, tags: Tags) -> str:
    """Return the text that waits, as it came."""
    return tags.open + at.held if at.inside and not tags.first else at.held


def held_of(passages: Mapping[int, Passage], tags: Tags) -> object:
    """Return how much waits of each of some texts, to be compared; None for nothing."""
    held = [(index, len(waiting(at, tags))) for index, at in passages.items()]
    return [each for each in held if each[1]] or None


def _begun(text: str, tag: str) -> int:
    """Return how many of the last characters of *text* may begin *tag*."""
    most = min(len(text), len(tag) - 1)
    return next((n for n in range(most, 0, -1) if tag.startswith(text[-n:])), 0)
