"""Pages for clients: `clients.md`, of which each section tells how to set one up.

The file is written in a small part of Markdown, which is read into plain values here:
whoever shows them escapes them. What stands before its first section is for those who
read the file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..text.command_line import quoted

PATH = Path(__file__).with_name("clients.md")
ADDRESS = "127.0.0.1:8080"
"""Where the file says that the proxy listens."""
CONFDIR = "~/.mitmproxy"
"""Where it says that mitmproxy's folder is."""
_CONFDIR = re.compile(r"(?P<alone>`?)~/\.mitmproxy(?P<rest>[\w./-]*)(?P<end>`?)")

_SECTION = re.compile(r"## +(\S.*?) *")
_AGENTS = re.compile(r"<!-- *agents: *(.*?) *-->")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r" {0,3}```")
_ITEM = re.compile(r"- +")
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
    """A paragraph, a list, a table or a block of code.

    Attributes:
        kind: Which of them.
        rows: Its items, each of one line; a table's rows have a line for each column,
            the first row being its heading.
        code: The code, as it stands.
    """

    kind: Literal["paragraph", "list", "table", "code"]
    rows: Sequence[Sequence[Line]] = ()
    code: str = ""


@dataclass(frozen=True)
class Client:
    """A section.

    Attributes:
        name: Its heading.
        slug: The heading as GitHub makes an anchor of it.
        agents: What the `User-Agent` of such a client has in it.
        text: The section in Markdown, without its heading and comments.
    """

    name: str
    slug: str
    agents: tuple[str, ...]
    text: str

    def fits(self, agent: str) -> bool:
        """Tell whether *agent*, a `User-Agent`, is such a client's."""
        return any(each.lower() in agent.lower() for each in self.agents)

    def blocks(self) -> Iterator[Block]:
        """Yield what is to be shown."""
        return _blocks(self.text.splitlines())


def read(address: str, confdir: str, path: Path = PATH) -> list[Client]:
    """Return the clients, as the file has them.

    Args:
        address: Where the proxy listens, in the place of `ADDRESS`.
        confdir: mitmproxy's folder, in the place of `CONFDIR`.
        path: The file; if it is not there, there are no clients.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    text = text.replace(ADDRESS, address)
    if confdir != CONFDIR:
        text = _CONFDIR.sub(lambda found: _path(found, confdir), text)
    return [*_sections(text.splitlines())]


def _path(found: re.Match[str], confdir: str) -> str:
    """Return a path of the file's with the real folder, in a command as a shell takes it."""
    path = f"{confdir}{found['rest']}"
    if not (found["alone"] and found["end"]):
        path = quoted(path)
    return f"{found['alone']}{path}{found['end']}"


def _sections(lines: Sequence[str]) -> Iterator[Client]:
    name: str | None = None
    found: list[str] = []
    in_code = False
    for line in lines:
        in_code ^= bool(_FENCE.match(line))
        heading = None if in_code else _SECTION.fullmatch(line)
        if heading is None:
            found.append(line)
            continue
        if name is not None:
            yield _client(name, "\n".join(found))
        name, found = heading[1], []
    if name is not None:
        yield _client(name, "\n".join(found))


def _client(name: str, text: str) -> Client:
    found = _AGENTS.search(text)
    agents = [each.strip() for each in found[1].split(",")] if found else []
    body = _COMMENT.sub("", text).strip()
    return Client(name, slug(name), tuple(filter(None, agents)), body)


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives *heading*."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        end = _end(lines, at)
        part = lines[at:end]
        at = end
        if _FENCE.match(part[0]):
            is_closed = len(part) > 1 and _FENCE.match(part[-1])
            yield Block("code", code="\n".join(part[1 : -1 if is_closed else None]))
        elif part[0].startswith("|"):
            yield Block("table", [_cells(row) for row in part if not _RULE.match(row)])
        elif _ITEM.match(part[0]):
            items = re.split(r"\n- +", "\n" + "\n".join(part))[1:]
            yield Block("list", [[_spans(item)] for item in items])
        elif part[0]:
            yield Block("paragraph", [[_spans("\n".join(part))]])


def _end(lines: Sequence[str], at: int) -> int:
    """Return where the block ends that begins at line *at*."""
    first = lines[at]
    if _FENCE.match(first):
        ends = (n for n in range(at + 1, len(lines)) if _FENCE.match(lines[n]))
        return next(ends, len(lines)) + 1
    for end in range(at + 1, len(lines)):
        line = lines[end]
        begins = _FENCE.match(line) or line.startswith("|") != first.startswith("|")
        item = _ITEM.match(line) and not _ITEM.match(first)
        if not line.strip() or not first.strip() or begins or item:
            return end
    return len(lines)


def _cells(row: str) -> list[Line]:
    cells = re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))
    return [_spans(cell.replace("\\|", "|").strip()) for cell in cells]


def _spans(text: str, *, is_bold: bool = False, href: str | None = None) -> list[Span]:
    """Return *text*, its lines joined, as spans."""
    text = re.sub(r"\s*\n\s*", " ", text)
    spans, at = [], 0
    for found in _INLINE.finditer(text):
        if found.start() > at:
            spans.append(Span(text[at : found.start()], is_bold=is_bold, href=href))
        if found["code"]:
            spans.append(Span(found["code"], is_code=True, is_bold=is_bold, href=href))
        elif found["bold"]:
            spans += _spans(found["bold"], is_bold=True, href=href)
        else:
            spans += _spans(found["label"], is_bold=is_bold, href=found["href"])
        at = found.end()
    if at < len(text):
        spans.append(Span(text[at:], is_bold=is_bold, href=href))
    return spans
