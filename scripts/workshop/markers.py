"""Generated text in a document, between two markers that name it and its writer.

<!-- begin NAME (COMMAND writes this) -->
…
<!-- end NAME -->
"""

from __future__ import annotations

import re
from pathlib import Path

import _bootstrap

DOCS = _bootstrap.ROOT / "addon" / "docs"


class MarkersError(ValueError):
    """A document has no place for a text."""


def fill(document: str, name: str, text: str) -> str:
    """Return *document* with *text* between the markers of *name*.

    Raises:
        MarkersError: They are not there, or more than once.
    """
    place = _place(document, name)
    return f"{document[: place.start(1)]}{text.rstrip()}\n{document[place.end(1) :]}"


def update(path: Path, name: str, text: str) -> None:
    """Put *text* between the markers of *name* in the file *path*.

    Raises:
        MarkersError: They are not there, or more than once.
    """
    try:
        document = fill(path.read_text(encoding="utf-8"), name, text)
    except MarkersError as error:
        raise MarkersError(f"{path.name} {error}") from None
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(document)


def _place(document: str, name: str) -> re.Match[str]:
    begin = rf"<!-- begin {re.escape(name)} \([^()\n]+ writes this\) -->\n"
    end = f"<!-- end {re.escape(name)} -->"
    found = [*re.finditer(f"^{begin}(.*?)^{end}$", document, re.DOTALL | re.MULTILINE)]
    if len(found) != 1:
        raise MarkersError(
            f"has no lines <!-- begin {name} (… writes this) --> and "
            f"<!-- end {name} -->, once each"
        )
    return found[0]
