"""The strings and numbers of an answer, with their places, whatever surrounds them.

Nothing is decoded: who replaces one of them leaves all other bytes as they are. It reads
what a parser would refuse as well, for that is what a bug report is about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

type Path = tuple[str | int, ...]
"""Keys, and places in lists; of a choice, or a tool call, `#` and what its index says."""

_TOKEN = re.compile(r'"((?:[^"\\\r\n]|\\.)*)"|([{}\[\],:])|(-?\d[\d.eE+-]*)')
_DEEP = 20  # levels
_PLAIN = ("[done]", '"[done]"', "null", "true")
"""What is no JSON object, and says nothing."""


@dataclass(frozen=True, slots=True)
class Text:
    """One string, or number, of an answer.

    Attributes:
        start: Where its characters begin.
        raw: They, as they are spelled.
        path: Where it is in its JSON value; choices and tool calls by their index.
        is_number: Whether it is a number.
    """

    start: int
    raw: str
    path: Path
    is_number: bool


@dataclass(slots=True, eq=False)
class _Container:
    """A JSON object or array that is open.

    Attributes:
        parent: What holds it.
        key: Its key, or its place, there.
        is_object: Whether it is an object.
        at: The key, or the place, of what comes next in it.
        index: What it says under `index`.
    """

    parent: "_Container | None"
    key: str | int
    is_object: bool
    at: str | int | None = None
    index: str | None = None

    def path(self) -> Path:
        """Return where it is, as far as its innermost levels tell."""
        found: list[str | int] = []
        here = self
        while here.parent is not None and len(found) < _DEEP:
            above = here.parent
            listed = not above.is_object and above.key in ("choices", "tool_calls")
            told = listed and here.index is not None
            found.append(f"#{here.index}" if told else here.key)
            here = above
        return tuple(reversed(found))


def texts(text: str) -> Iterator[Text]:
    """Yield the strings and numbers of the JSON values in *text*, wherever they stand."""
    for start, region in _regions(text):
        yield from _texts_in(region, start)


def _regions(text: str) -> Iterator[tuple[int, str]]:
    """Yield the events of a stream, with their places; of what is none, all of it."""
    if not re.search(r"^(?:data|event|id|retry)?:", text, re.MULTILINE):
        yield 0, text
        return
    for match in re.finditer(r"(?:[^\r\n]+(?:\r\n|\r|\n)?)+", text):
        yield match.start(), match.group()


def _texts_in(region: str, start: int) -> Iterator[Text]:
    top: _Container | None = None
    found: list[tuple[re.Match[str], _Container, str | int]] = []
    for token in _TOKEN.finditer(region):
        name, mark, number = token[1], token[2], token[3]
        if mark and mark in "{[":
            top = _Container(top, _place(top), mark == "{", None if mark == "{" else 0)
        elif top is None:
            continue
        elif mark and mark in "}]":
            top = top.parent
        elif mark == ",":
            top.at = None if isinstance(top.at, str) or top.at is None else top.at + 1
        elif name is not None and top.is_object and top.at is None:
            top.at = name
        elif not mark:
            if number and top.at == "index":
                top.index = number
            found.append((token, top, _place(top)))
    for token, within, at in found:
        is_number = token[1] is None
        place = token.start(3 if is_number else 1)
        yield Text(
            start + place, token[3] or token[1] or "", (*within.path(), at), is_number
        )


def _place(container: _Container | None) -> str | int:
    return 0 if container is None or container.at is None else container.at


def plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield what is no JSON, with its place: an error page, say; framing is not."""
    for start, region in _regions(text):
        if any(True for _ in _texts_in(region, start)):
            continue
        for match in re.finditer(r"[^\r\n]+", region):
            line = match.group()
            if re.match(r":|(?:event|id|retry):", line):
                continue
            payload = re.sub(r"^(?:data: ?)+", "", line)
            if payload.strip().lower() not in _PLAIN:
                yield start + match.end() - len(payload), payload
