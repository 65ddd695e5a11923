"""What an answer is made of, token by token, whatever shape it is in.

Nothing is lost and nothing decoded: replacing a token leaves all other bytes as they
are. It reads what a parser would refuse as well, for that is what a bug report is about:
JSON that breaks off, words where JSON should be, pages.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

type Path = tuple[str | int, ...]
"""Keys, and places in lists; of a choice, or a tool call, `#` and what its index says."""
type Kind = Literal["string", "key", "number", "plain", "comment", "id"]

_TOKEN = re.compile(
    r'"((?:[^"\\\r\n]|\\[^\r\n])*+)(?:"|(?=[\r\n]|\Z)|\\)'
    r"|([{}\[\],:])|(-?[0-9][0-9.eE+-]*)"
)
_LITERALS = {"true", "false", "null"}
_DONE = {"[done]", "true", "null"}
"""What says nothing, where an event brings no JSON object; without quotes."""
_IS_DONE = re.compile(r"\[done\]", re.IGNORECASE).match
_FIELD = re.compile(
    r"\ufeff?(?:(?P<colon>:)|(?P<id>id: ?)|(?:event|retry):.*|(?:data: ?)+|error: ?)|\ufeff"
)
_LINE = re.compile(r"[^\r\n]+")
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(
    object_pairs_hook=lambda _: None,
    parse_int=lambda _: None,
    parse_float=lambda _: None,
)
_DEEP = 20  # levels


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an answer.

    Attributes:
        start: Where its characters begin.
        raw: They, as they are spelled.
        path: Where it is in its JSON value; choices and tool calls by their index.
        kind: A string or a number of JSON, a key, words outside of JSON, or those of a
            comment or of an `id` line.
    """

    start: int
    raw: str
    path: Path
    kind: Kind


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
            is_indexed = listed and here.index is not None
            found.append(f"#{here.index}" if is_indexed else here.key)
            here = above
        return tuple(reversed(found))


def text_at(text: str, key: str) -> tuple[int, int] | None:
    """Return where the text begins and ends, without quotes, that an object has at *key*.

    None if *text* is no object, or has no such text. Unlike `tokens` it looks no deeper,
    and takes no longer than a parser does.
    """
    begin = next((at for name, at in members(text) if name == key), None)
    if begin is None or not text.startswith('"', begin):
        return None
    try:
        _, end = _DECODER.raw_decode(text, begin)
    except ValueError:
        return None
    return begin + 1, end - 1


def members(text: str) -> Iterator[tuple[str, int]]:
    """Yield the keys of an object, and where the value of each begins.

    A value is read when the next key is wanted. What is broken ends it, as the object's
    end does.
    """
    at = _after_space(text, 0)
    mark = "{"
    try:
        while text.startswith(mark, at):
            at = _after_space(text, at + 1)
            if not text.startswith('"', at):
                return
            name, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, at)
            if not text.startswith(":", at):
                return
            at = _after_space(text, at + 1)
            yield name, at
            _, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, at)
            mark = ","
    except (ValueError, RecursionError):
        pass


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def tokens(text: str) -> Iterator[Token]:
    """Yield what *text* is made of, but for framing and punctuation."""
    if not re.search(r"^(?:data|event|id|retry)?:", text, re.MULTILINE):
        yield from _Region(text, 0, is_event=False).tokens()
        return
    for match in re.finditer(r"(?:[^\r\n]+(?:\r\n|\r|\n)?)+", text):
        yield from _Region(match.group(), match.start(), is_event=True).tokens()


class _Region:
    """An event, or a body.

    Args:
        text: All of it.
        start: Where it begins.
        is_event: Whether it has the framing of one.
    """

    def __init__(self, text: str, start: int, *, is_event: bool) -> None:
        self._text = text
        self._start = start
        self._is_event = is_event
        self._top: _Container | None = None
        self._end = 0  # of what has been looked at
        self._plain: list[Token] = []
        self._found: list[tuple[int, str, _Container, str | int, Kind]] = []

    def tokens(self) -> Iterator[Token]:
        """Yield what it is made of."""
        for token in _TOKEN.finditer(self._text):
            mark = token[2]
            if self._top is None and not (mark and self._opens(token)):
                continue
            self._between(token.start())
            self._end = token.end()
            if mark and mark in "{[":
                place = _place(self._top)
                at = None if mark == "{" else 0
                self._top = _Container(self._top, place, mark == "{", at)
            else:
                assert self._top is not None
                self._take(token, self._top)
        self._between(len(self._text))
        yield from self._plain
        # By now it is known at which index they are.
        for at, raw, within, place, kind in self._found:
            yield Token(self._start + at, raw, (*within.path(), place), kind)

    def _opens(self, token: re.Match[str]) -> bool:
        """Tell whether a value begins here; `[DONE]` is none."""
        return token[2] in "{[" and not _IS_DONE(self._text, token.start())

    def _take(self, token: re.Match[str], top: _Container) -> None:
        name, mark, number = token[1], token[2], token[3]
        if mark:
            if mark in "}]":
                self._top = top.parent
            elif mark == ",":
                top.at = top.at + 1 if isinstance(top.at, int) else None
        elif name is not None and top.is_object and top.at is None:
            top.at = name
            self._found.append((token.start(1), name, top, name, "key"))
        elif name is not None:
            self._found.append((token.start(1), name, top, _place(top), "string"))
        else:
            if top.at == "index":
                top.index = number
            self._found.append((token.start(3), number, top, _place(top), "number"))

    def _between(self, end: int) -> None:
        """Take what is between two tokens: blanks and literals, if all is well."""
        gap, start = self._text[self._end : end], self._start + self._end
        found = _plain(gap, start, is_event=self._is_event)
        if self._top is not None:  # a value may go on in the next line, after its name
            known = _LITERALS | ({"data"} if self._is_event and "\n" in gap else set())
            found = (each for each in found if each.raw.strip() not in known)
        self._plain += found


def _place(container: _Container | None) -> str | int:
    return 0 if container is None or container.at is None else container.at


def _plain(text: str, start: int, *, is_event: bool) -> Iterator[Token]:
    """Yield what of *text*, which is no JSON, is no framing either."""
    for match in _LINE.finditer(text):
        line = match.group()
        field = _FIELD.match(line) if is_event else None
        skip = field.end() if field else 0
        kind: Kind = "plain"
        if field and field["colon"]:
            kind = "comment"
        elif field and field["id"]:
            kind = "id"
        rest = line[skip:]
        if rest.strip(' "').lower() not in _DONE and rest.strip():
            yield Token(start + match.start() + skip, rest, (), kind)
