"""Pages from Markdown files: the project's documents, and how to set up each client.

`clients.md` has a section for each client. It is written in the part of Markdown that
`markdown` reads. What stands before its first section is for those who read the file.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..text.command_line import quoted
from .markdown import FENCE, slug

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "docs", _PACKAGE.parent / "docs")
"""Where they are in an installed package, and in a checkout or a copy of the addon."""
_LEFT_OUT = re.compile(r"<!--.*?-->|^!\[.*$", re.DOTALL | re.MULTILINE)
"""Comments and pictures: a picture is not in the package."""
_TITLE = re.compile(r"# +(.+)\n")
PATH = Path(__file__).with_name("clients.md")
ADDRESS = "127.0.0.1:8080"
"""Where the file says that the proxy listens."""
CONFDIR = "~/.mitmproxy"
"""Where it says that mitmproxy's folder is."""
_CONFDIR = re.compile(r"(?P<alone>`?)~/\.mitmproxy(?P<rest>[\w./-]*)(?P<end>`?)")
_SECTION = re.compile(r"## +(\S.*?) *")
_AGENTS = re.compile(r"<!-- *agents: *(.*?) *-->")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Document:
    """A file.

    Attributes:
        slug: Its name without an ending.
        title: Its first heading.
        text: All that follows, in Markdown.
    """

    slug: str
    title: str
    text: str


@functools.cache
def documents() -> list[Document]:
    """Return the documents, in the order of their names."""
    folder = next(filter(Path.is_dir, _FOLDERS), None)
    return [] if folder is None else [*map(_document, sorted(folder.glob("*.md")))]


def _document(path: Path) -> Document:
    text = _LEFT_OUT.sub("", path.read_text(encoding="utf-8"))
    found = _TITLE.match(text)
    title, rest = (found[1], text[found.end() :]) if found else (path.stem, text)
    return Document(path.stem, title, rest)


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


def clients(address: str, confdir: str, path: Path = PATH) -> list[Client]:
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
        in_code ^= bool(FENCE.match(line))
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
