"""A small part of Markdown, read into plain values: the page that shows them escapes them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

FENCE = re.compile(r" {0,3}```")
_HEADING = re.compile(r"(#{2,4}) +(\S.*?) *")
_ITEM = re.compile(r"\s*(?:-|\d+\.) +")
_RULE = re.compile(r"\|(?: *:?-+:? *\|)+ *")
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\*\*(?P<bold>.+?)\*\*"
    r"|\[(?P<label>[^\]]+)\]\((?P<href>[^)\s]+)\)"
)


@dataclass(frozen=True)
class Span:
    """Words of one kind.

    Attributes:
        text: The words.
        is_code: Whether they are code.
        is_bold: Whether they are strong.
        href: The target of a link; None for other text.
    """

    text: str
    is_code: bool = False
    is_bold: bool = False
    href: str | None = None


type Line = Sequence[Span]


@dataclass(frozen=True)
class Block:
    """A heading, a paragraph, a list, a table or a block of code.

    Attributes:
        kind: Which of them; a nested list is part of the one around it.
        rows: Its items, each of one line; a table's rows have a line for each column,
            the first row being its heading.
        code: The code, as it stands.
        anchor: What links to a heading name.
    """

    kind: Literal["heading", "paragraph", "list", "table", "code"]
    rows: Sequence[Sequence[Line]] = ()
    code: str = ""
    anchor: str = ""


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives *heading*."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield what is to be shown of *lines*."""
    at = 0
    while at < len(lines):
        end = _end(lines, at)
        part = lines[at:end]
        at = end
        if FENCE.match(part[0]):
            is_closed = len(part) > 1 and FENCE.match(part[-1])
            yield Block("code", code="\n".join(part[1 : -1 if is_closed else None]))
        elif heading := _HEADING.fullmatch(part[0]):
            yield Block("heading", [[spans(heading[2])]], anchor=slug(heading[2]))
        elif part[0].startswith("|"):
            yield Block("table", [_cells(row) for row in part if not _RULE.match(row)])
        elif _ITEM.match(part[0]):
            items = re.split(f"\n{_ITEM.pattern}", "\n" + "\n".join(part))[1:]
            yield Block("list", [[spans(item)] for item in items])
        elif part[0]:
            yield Block("paragraph", [[spans("\n".join(part))]])


def _end(lines: Sequence[str], at: int) -> int:
    """Return where the block ends that begins at line *at*."""
    first = lines[at]
    if FENCE.match(first):
        ends = (n for n in range(at + 1, len(lines)) if FENCE.match(lines[n]))
        return next(ends, len(lines)) + 1
    if _HEADING.fullmatch(first):
        return at + 1
    for end in range(at + 1, len(lines)):
        line = lines[end]
        begins = bool(FENCE.match(line) or _HEADING.fullmatch(line))
        begins = begins or line.startswith("|") != first.startswith("|")
        item = _ITEM.match(line) and not _ITEM.match(first)
        if not line.strip() or not first.strip() or begins or item:
            return end
    return len(lines)


def _cells(row: str) -> list[Line]:
    cells = re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))
    return [spans(cell.replace("\\|", "|").strip()) for cell in cells]


def spans(text: str, *, is_bold: bool = False, href: str | None = None) -> list[Span]:
    """Return *text*, its lines joined, as spans."""
    text = re.sub(r"\s*\n\s*", " ", text)
    made: list[Span] = []
    at = 0
    for found in _INLINE.finditer(text):
        if found.start() > at:
            made.append(Span(text[at : found.start()], is_bold=is_bold, href=href))
        if found["code"]:
            made.append(Span(found["code"], is_code=True, is_bold=is_bold, href=href))
        elif found["bold"]:
            made += spans(found["bold"], is_bold=True, href=href)
        else:
            made += spans(found["label"], is_bold=is_bold, href=found["href"])
        at = found.end()
    if at < len(text):
        made.append(Span(text[at:], is_bold=is_bold, href=href))
    return made
