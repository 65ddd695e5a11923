"""Texts as their letters and digits alone, however they are spelled.

So a text is recognised that was escaped, printed by Python, made HTML or a URL, or set
in other white space or case.
"""

import base64
import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

_WORDY = (
    "\u2e80"  # from here on a character says as much as two, and words have no ends
)
# What stands for other characters, or for none. From the first backslash of a run only.
# All begin with one of a set, so that `re` skips whatever is between them.
_SPELLED = re.compile(
    r"[\n\\&%<](?:"
    r"(?<=\n)(?P<field>(?:data|event|id|retry)?:)"
    r"|(?<=\\)(?<!\\\\)\\*+(?:"
    r"(?P<utf16>u[0-9a-fA-F]{4}(?:\\++u[0-9a-fA-F]{4})*+)"
    r"|(?P<point>u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8})"
    r"|(?P<hex>x[0-9a-fA-F]{2}(?:\\++x[0-9a-fA-F]{2})*+)"
    r"|(?P<octal>[0-3][0-7]{2}(?:\\++[0-3][0-7]{2})*+)"
    r"|(?P<white>[abfnrtv]))"
    r"|(?<=&)(?P<entity>(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,31});)"
    r"|(?<=%)(?P<url>(?:25)*[0-9a-fA-F]{2}(?:%(?:25)*[0-9a-fA-F]{2})*+)"
    r"|(?<=<)(?P<tag>/?(?:br|wbr|p|b|em|mark|span)\s?/?>)"
    r")"
)
_BEGIN = "\n"  # a field may stand at the beginning of a text as on any line
_DROPPED = re.compile(
    r"[\x00-/:-@\[-`{-\xa0\xad\s\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+"
)
_DROPPED_ASCII = bytes(filter(lambda code: _DROPPED.match(chr(code)), range(128)))
_PLACES = re.compile(r"([\u2e80-\U0010ffff])")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
# What may be other text in base64, or in hexadecimal.
_PACKED = re.compile(
    r"(?P<hex>\b[0-9a-fA-F]{2}(?:[ :]?[0-9a-fA-F]{2}){7,}+\b)|[A-Za-z0-9+/_-]{15,}+={0,2}"
)


class Span(NamedTuple):
    """A part of a text that repeats another.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        size: Its letters and digits.
        is_complete: Whether it holds a whole string of that.
    """

    start: int
    end: int
    size: int
    is_complete: bool

    def holds(self, found: re.Match[str]) -> bool:
        """Tell whether all letters and digits of what was *found* are in it."""
        before = found.string[found.start() : self.start]
        after = found.string[self.end : found.end()]
        is_near = found.start() < self.end and self.start < found.end()
        return is_near and not folded(before) and not folded(after)


class Folded:
    """The letters and digits of a text, and where they stand in it."""

    def __init__(self, text: str) -> None:
        chars: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end, what in _unspelled(text):
            for char in _plain(what):
                if not _DROPPED.match(char):
                    times = 1 if char < _WORDY else 2
                    chars += [char] * times
                    self._starts += [start] * times
                    self._ends += [end] * times
        self.text = "".join(chars)
        self._spelled = text

    def ends(self, pattern: re.Pattern[str]) -> set[int]:
        """Return where it goes no further because of what *pattern* is."""
        found = pattern.finditer(self._spelled)
        return {bisect_right(self._ends, each.start()) for each in found}

    def starts(self, pattern: re.Pattern[str]) -> set[int]:
        """Return where it goes on after what *pattern* is."""
        found = pattern.finditer(self._spelled)
        return {bisect_left(self._starts, each.end()) for each in found}

    def begins_word(self, at: int) -> bool:
        """Tell whether something stands between a character and the one before."""
        if not 0 < at < len(self.text) or max(self.text[at - 1 : at + 1]) >= _WORDY:
            return True
        return self._starts[at] > self._ends[at - 1]

    def merged(
        self, marks: Iterable[tuple[int, int, bool]]
    ) -> list[tuple[int, int, bool]]:
        """Return *marks* in order, those that touch in one."""
        merged: list[tuple[int, int, bool]] = []
        for start, end, is_complete in sorted(marks):
            if merged and start <= merged[-1][1]:
                first, last, was = merged[-1]
                merged[-1] = first, max(last, end), was or is_complete
            else:
                merged.append((start, end, is_complete))
        return merged

    def spans(self, marks: Iterable[tuple[int, int, bool]]) -> list[Span]:
        """Return *marks* as parts of the text."""
        return [
            Span(self._starts[start], self._ends[end - 1], end - start, is_complete)
            for start, end, is_complete in marks
            if end
        ]


def _unspelled(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield from where, to where, and which characters *text* means there."""
    at = 0
    for found in _SPELLED.finditer(_BEGIN + text):
        start, end = (place - len(_BEGIN) for place in found.span())
        for place in range(at, start):
            yield place, place + 1, text[place]
        yield start, end, _meant(found)
        at = end
    for place in range(at, len(text)):
        yield place, place + 1, text[place]


def folded(text: str) -> str:
    """Return the letters and digits of *text*."""
    return _letters(_plain(_SPELLED.sub(_meant, _BEGIN + text)))


def folded_words(words: Iterable[str]) -> Iterator[str]:
    """Return *words* without white space, each folded, which is quicker than one by one."""
    text = "".join(f"{_BEGIN}{word}\v" for word in words)
    # An escape may mean what stands between words here: folded, it is nothing anyway.
    text = _SPELLED.sub(lambda found: _meant(found).replace("\v", ""), text)
    return map(_letters, _plain(text).split("\v")[:-1])


def _letters(text: str) -> str:
    if text.isascii():
        return text.encode().translate(None, _DROPPED_ASCII).decode()
    return _PLACES.sub(r"\1\1", _DROPPED.sub("", text))


def _plain(text: str) -> str:
    """Return *text* in lower case, and its wide letters as any other."""
    return text.translate(_WIDE).casefold()


def spellings(secret: str) -> list[str]:
    """Return the usual spellings of *secret*: as it is, in a URL, and in JSON."""
    # Also the marks that it may begin or end with are quoted.
    url = quote(secret, safe="")
    lower = re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), url)
    text = secret.replace("\\", r"\\").replace('"', r"\"")
    return [*dict.fromkeys((secret, url, lower, text, text.replace("/", r"\/")))]


def may_pack(text: str, secret: str) -> bool:
    """Tell whether *text* may have *secret* in base64 or hexadecimal, letter by letter.

    That is known much quicker than its places are.
    """
    data = secret.encode()
    text = text.translate(_BASE64)
    for at, first in enumerate(
        (0, 2, 3)
    ):  # characters that hold bits of what is before
        word = base64.b64encode(bytes(at) + data).decode()
        if word[first : (at + len(data)) * 8 // 6] in text:
            return True
    return data.hex() in text.lower().replace(" ", "").replace(":", "")


def places_of(secret: str, text: str) -> list[tuple[int, int]]:
    """The places of *secret* in *text*, in any spelling, also packed."""
    wanted = folded(secret)
    if not wanted:
        return []
    places = [(start, end) for start, end, what in packed(text) if wanted in what]
    if wanted in folded(text):  # which is much quicker than to know where
        letters = Folded(text)
        found = re.finditer(wanted, letters.text)  # letters and digits alone
        marks = ((each.start(), each.end(), True) for each in found)
        places += [(each.start, each.end) for each in letters.spans(marks)]
    return sorted(places)


def packed(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield from where, to where, and which letters *text* packs there."""
    for found in _PACKED.finditer(text):
        word = found[0]
        if found["hex"]:
            data = [bytes.fromhex(re.sub("[ :]", "", word))]
        else:
            word = word.rstrip("=").translate(_BASE64)
            data = [_unpacked(word[at:]) for at in range(4)]
        yield (
            found.start(),
            found.end(),
            "\0".join(folded(each.decode(errors="replace")) for each in data),
        )


_BASE64 = str.maketrans("-_", "+/")


def _unpacked(word: str) -> bytes:
    """The bytes of *word* in base64, as far as it goes."""
    size = len(word) - (len(word) % 4 == 1)
    return base64.b64decode(word[:size] + "=" * (-size % 4))


def _meant(found: re.Match[str]) -> str:
    """Return the characters that an escape stands for."""
    text = found[0]
    kind = found.lastgroup
    if kind == "point":
        text = f"&#x{re.sub('[^0-9a-fA-F]', '', text)};"
    if kind in ("entity", "point"):
        return html.unescape(text)
    if kind == "url":
        return unquote(re.sub("%(?:25)+(?=[0-9a-fA-F]{2})", "%", text))
    if kind == "utf16":
        units = [int(each[-4:], 16).to_bytes(2) for each in re.findall(r"u....", text)]
        return b"".join(units).decode("utf-16-be", "replace")
    if kind in ("hex", "octal"):
        codes = re.findall(r"[0-9a-fA-F]+", text.replace("x", ""))
        data = bytes(int(each, 16 if kind == "hex" else 8) for each in codes)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("latin-1")
    return " "
