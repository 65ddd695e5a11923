"""What a browser would make of a page, roughly."""

from collections import Counter
from html.parser import HTMLParser

UNCLOSED = ("meta", "br", "wbr", "link")


class HtmlPage(HTMLParser):
    """A page, each of whose elements has to be closed.

    Attributes:
        elements: The name and the attributes of each, in order.
        text: All that can be read, cells of a table apart.
    """

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    @property
    def count(self) -> Counter[str]:
        """How many elements of each name there are."""
        return Counter(name for name, _ in self.elements)

    def values(self, *names: str) -> list[str]:
        """Return the values of the attributes with these names."""
        found = (attributes for _, attributes in self.elements)
        return [each[name] for each in found for name in names if name in each]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.text += " " * (tag in {"td", "dd", "bdi"})
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in UNCLOSED:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data
