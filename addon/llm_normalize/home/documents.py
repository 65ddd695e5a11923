"""The project's documents, as the proxy's own pages: Markdown files of the package."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "docs", _PACKAGE.parent / "docs")
"""Where they are in an installed package, and in a checkout or a copy of the addon."""
_LEFT_OUT = re.compile(r"<!--.*?-->|^!\[.*$", re.DOTALL | re.MULTILINE)
"""Comments and pictures: a picture is not in the package."""
_TITLE = re.compile(r"# +(.+)\n")


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
def read() -> list[Document]:
    """Return the documents, in the order of their names."""
    folder = next(filter(Path.is_dir, _FOLDERS), None)
    return [] if folder is None else [*map(_document, sorted(folder.glob("*.md")))]


def _document(path: Path) -> Document:
    text = _LEFT_OUT.sub("", path.read_text(encoding="utf-8"))
    found = _TITLE.match(text)
    title, rest = (found[1], text[found.end() :]) if found else (path.stem, text)
    return Document(path.stem, title, rest)
