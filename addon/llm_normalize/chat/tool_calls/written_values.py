"""Calls and values that models write in other notations than JSON.

Python's (`f(a="b", n=[1])`: LFM2, Gemma 3), Gemma's (`call:f{a:<escape>b<escape>}`), and
tags within tags, each behind a token (MiniMax M3).
"""

import re
from collections.abc import Callable

from ...wire.json_text import Json, loads

type Written = list[tuple[str, dict[str, Json]]]
"""Names and arguments."""

M3 = "]<]minimax[>["
"""What MiniMax M3 writes before each of its tags."""

_QUOTES = ("<escape>", '<|"|>')
_DEEP = 32  # values in values
_LITERALS = {"True": True, "False": False, "None": None}
_BLANKS = re.compile(r"[\s;]*")
_NAME = re.compile(r"[\w.:-]+")
_WORD = re.compile(r"[^\s,:={}\[\]()<>\"']+")
_STRING = re.compile(r"(\"\"\"|'''|[\"'])((?:\\.|(?!\1).)*+)\1", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPENING = re.compile(rf"\s*{re.escape(M3)}<([^<>/\s=\"]+)>")
_INVOKE = re.compile(rf"\s*(?:{re.escape(M3)})?<invoke name=[\"']?([^>\"']+)[\"']?>")
_LAST = re.compile(rf"(?:{re.escape(M3)}|\s)*\Z")


class MalformedError(ValueError):
    """A text is not in the notation that it was read in."""


class Quoted(str):
    """A text between Gemma's quotes, which may stand for a value of another type."""

    __slots__ = ()


def python_calls(text: str) -> Written:
    """Return the calls that *text* writes as Python does, maybe in a list.

    Raises:
        MalformedError: It has anything else, or arguments without a name.
    """
    reader = _Reader(text)
    is_list = reader.take("[")
    found = [reader.python_call()]
    while reader.take(",") or not (reader.is_over or reader.sees("]")):
        found.append(reader.python_call())
    if is_list:
        reader.need("]")
    reader.end()
    return found


def gemma_call(text: str) -> Written:
    """Return the call that *text* writes as Gemma's templates do.

    Raises:
        MalformedError: It has anything else.
    """
    reader = _Reader(text)
    reader.need("call:")
    name = reader.word(_NAME)
    reader.need("{")
    fields = reader.fields(":", "}")
    reader.end()
    return [(name, fields)]


class _Reader:
    """Reads a text from its begin on."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._deep = text, 0, 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        self._skip()
        return self._at == len(self._text)

    def _skip(self) -> None:
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at

    def sees(self, mark: str) -> bool:
        """Tell whether *mark* is next."""
        self._skip()
        return self._text.startswith(mark, self._at)

    def take(self, mark: str) -> bool:
        """Pass *mark* if it is next; tell whether it was."""
        found = self.sees(mark)
        self._at += len(mark) if found else 0
        return found

    def need(self, mark: str) -> None:
        """Pass *mark*, which has to be next."""
        if not self.take(mark):
            raise MalformedError(mark)

    def end(self) -> None:
        """Require that nothing is left."""
        if not self.is_over:
            raise MalformedError

    def word(self, pattern: re.Pattern[str]) -> str:
        """Read the next match of *pattern*."""
        self._skip()
        found = pattern.match(self._text, self._at)
        if found is None:
            raise MalformedError
        self._at = found.end()
        return found[0]

    def python_call(self) -> tuple[str, dict[str, Json]]:
        """Return the next call; of one that is printed, the call."""
        name = self.word(_NAME)
        self.need("(")
        if name == "print":
            call = self.python_call()
            self.need(")")
            return call
        return name, self.fields("=", ")")

    def fields(self, between: str, closing: str) -> dict[str, Json]:
        """Return keys and values up to *closing*."""
        found: dict[str, Json] = {}
        while not self.take(closing):
            if found:
                self.need(",")
                if self.take(closing):
                    break
            key = self._text_between_quotes()
            key = self.word(_WORD) if key is None else key
            self.need(between)
            found[str(key)] = self.value()
        return found

    def value(self) -> Json:
        """Return the next value."""
        self._deep += 1
        if self._deep > _DEEP:
            raise MalformedError
        try:
            text = self._text_between_quotes()
            if text is not None:
                return text
            for opening, closing in _CLOSING.items():
                if self.take(opening):
                    return (
                        self.fields(":", closing)
                        if opening == "{"
                        else self._elements(closing)
                    )
            return self._literal()
        finally:
            self._deep -= 1

    def _elements(self, closing: str) -> list[Json]:
        found: list[Json] = []
        while not self.take(closing):
            if found:
                self.need(",")
                if self.take(closing):
                    break
            found.append(self.value())
        return found

    def _literal(self) -> Json:
        word = self.word(_WORD)
        if word in _LITERALS:
            return _LITERALS[word]
        try:
            return loads(word.encode())
        except ValueError:
            raise MalformedError(word) from None

    def _text_between_quotes(self) -> str | None:
        """Return the next text in quotes; None if another value is next."""
        self._skip()
        for mark in _QUOTES:
            if self.take(mark):
                end = self._text.find(mark, self._at)
                if end < 0:
                    raise MalformedError(mark)
                text, self._at = Quoted(self._text[self._at : end]), end + len(mark)
                return text
        found = _STRING.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return _ESCAPE.sub(_unescaped, found[2])


def _unescaped(found: re.Match[str]) -> str:
    what = found[1]
    if what[0] in "ux" and len(what) > 1:
        return chr(int(what[1:], 16))
    if what in "\\/\"'":
        return what
    return _ESCAPED.get(what, found[0])


# -- tags within tags ------------------------------------------------------------------


def m3_calls(text: str, typed: Callable[[str, str, str], Json]) -> Written:
    """Return the calls that *text* writes in MiniMax M3's tags.

    Args:
        text: The text, without the tag around all calls.
        typed: Returns the value of a text, for the name of a call and of its argument.

    Raises:
        MalformedError: It has anything else.
    """
    found: Written = []
    at = 0
    while not _LAST.match(text, at):
        begun = _INVOKE.match(text, at)
        if begun is None:
            raise MalformedError
        name = begun[1]
        pairs, at = _children(text, begun.end(), "invoke", 0)
        one = {key: _joined(values) for key, values in pairs.items()}
        found.append(
            (
                name,
                {
                    key: typed(name, key, each) if isinstance(each, str) else each
                    for key, each in one.items()
                },
            )
        )
    return found


def _children(
    text: str, at: int, parent: str, deep: int
) -> tuple[dict[str, list[Json]], int]:
    """Return the values within the tag *parent* by their tags, and where it has ended."""
    ending = re.compile(rf"\s*(?:{re.escape(M3)})?</{re.escape(parent)}>")
    found: dict[str, list[Json]] = {}
    while not (ended := ending.match(text, at)):
        begun = _OPENING.match(text, at)
        if begun is None or deep > _DEEP:
            raise MalformedError
        value, at = _element(text, begun.end(), begun[1], deep + 1)
        found.setdefault(begun[1], []).append(value)
    return found, ended.end()


def _element(text: str, at: int, tag: str, deep: int) -> tuple[Json, int]:
    """Return the value in the *tag* that begins at *at*, and where it has ended."""
    if _OPENING.match(text, at):
        pairs, end = _children(text, at, tag, deep)
        if pairs.keys() == {"item"}:
            return [_leaf(each) for each in pairs["item"]], end
        return {key: _leaf(_joined(values)) for key, values in pairs.items()}, end
    closing, token = f"</{tag}>", text.find(M3, at)
    token = len(text) if token < 0 else token
    if text.startswith(closing, token + len(M3)):
        return text[at:token], token + len(M3 + closing)
    end = text.find(closing, at, token)
    if end < 0:
        raise MalformedError(tag)
    return text[at:end], end + len(closing)  # it has forgotten its token


def _joined(values: list[Json]) -> Json:
    return values[0] if len(values) == 1 else [_leaf(each) for each in values]


def _leaf(value: Json) -> Json:
    """The JSON value of a nested text without a schema, else the text itself."""
    if not isinstance(value, str):
        return value
    try:
        return loads(value.strip().encode())
    except (ValueError, RecursionError):
        return value
