"""What a settled stream learned: events of a known shape are patched as bytes, unread.

Most events of a stream differ in one text alone, and what becomes of them does not
depend on it. A template is what such an event looks like around its texts, as received
and as sent. It holds as long as the stream is settled: the slow path of an event has
been seen to change nothing that decides on the next one. An event that fits
would go the same way, so it is not read at all. Whatever fits nothing takes the slow path,
and if that changes anything, all templates are forgotten.

An optimisation and no more: without it every byte is sent the same.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...wire.json_text import PLAIN, dumps

TEXT = rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+'
COUNT = rb"[1-9][0-9]{0,15}"  # zeros may mean that nothing has been counted
# As valid UTF-8 is, by table 3-7 of the Unicode standard: for a short text that is
# quicker than to decode it. Runs of one length, else a long text took four times as long.
_UNICODE = (
    rb"[ !#-\[\]-\x7f]++|(?:[\xc2-\xdf][\x80-\xbf])++"
    rb"|(?:[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf])++"
    rb"|(?:\xe0[\xa0-\xbf][\x80-\xbf])++|(?:\xed[\x80-\x9f][\x80-\xbf])++"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_IS_TEXT = re.compile(
    rb'(?:%b|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))++' % _UNICODE
).fullmatch
_IS_COUNT = re.compile(COUNT).fullmatch
_FIELD = b"data: "
is_as_written = re.compile(rb'(?:%b|\\["\\bfnrt])++' % _UNICODE).fullmatch
"""Matches a text that surely is spelled as in an event that is written anew.

Most texts are that are not `PLAIN`: they have letters beyond ASCII, or usual escapes.
"""


@dataclass(slots=True)  # not frozen: that would take three times as long to make
class Template:
    """One shape of event, and what becomes of it. It does not change.

    What varies in it are texts without their quotes, and counts.

    Attributes:
        head: The bytes before the first text.
        between: The bytes between the texts.
        tail: The bytes behind the last text, to the event's end.
        same: For each text, the index of the first equal text.
        out: What is sent: bytes, and indexes of texts; empty if the event is sent unchanged.
        fixes: Names of the fixes that change it.
        calls: (choice, tool call, number of the text) of arguments.
        counts: The numbers of the texts that are counts.
    """

    head: bytes
    between: tuple[bytes, ...]
    tail: bytes
    same: tuple[int, ...]
    out: tuple[bytes | int, ...]
    fixes: tuple[str, ...]
    calls: tuple[tuple[int, int, int], ...]
    counts: tuple[int, ...]
    has_one_text: bool = field(init=False, compare=False)
    """Whether one text alone varies, once in what is sent, and all around it is ASCII."""
    is_sole: bool = field(init=False, compare=False)
    """Whether, besides, nothing of that text has to be recorded: see `patch`."""
    span: slice = field(init=False, compare=False)
    """Where that text is, as received."""
    sides: tuple[bytes, bytes] = field(init=False, compare=False)
    """What is sent around the one text."""
    is_anew: bool = field(init=False, compare=False)
    """Whether the JSON is written anew, and not only its framing: then its texts are."""

    def __post_init__(self) -> None:
        """Note where the text is, if there is but one, and all else is ASCII."""
        ascii_only = self.head.isascii() and self.tail.isascii()
        alone = ascii_only and not (self.between or self.counts)
        sides = [part for part in self.out if isinstance(part, bytes)]
        once = not self.out or len(sides) == 2  # noqa: PLR2004 - before and behind
        self.has_one_text = alone and once
        self.is_sole = self.has_one_text and not self.calls
        self.span = slice(len(self.head), -len(self.tail))
        before, behind = sides if once and sides else (self.head, self.tail)
        self.sides = before, behind
        self.is_anew = not self._keeps_json(sides)

    def _keeps_json(self, sent: list[bytes]) -> bool:
        """Tell whether what is *sent* around the texts is the same JSON as received."""
        texts = [part for part in self.out if isinstance(part, int)]
        return (
            texts == [*range(len(self.between) + 1)]
            and tuple(sent[1:-1]) == self.between
            and self.head.endswith(sent[0].removeprefix(_FIELD))
            and self.tail.startswith(sent[-1].rstrip(b"\n"))
        )

    @property
    def changes_all(self) -> bool:
        """Whether it changes each event that fits, however its text is spelled."""
        return bool(self.out) and self.is_sole and self.sides != (self.head, self.tail)

    def text_sent(self, sent: bytes) -> bytes:
        """Return the one text of what is sent for an event."""
        before, behind = self.sides
        return sent[len(before) : -len(behind)]

    def patch(self, raw: bytes) -> bytes | None:
        """Return what is sent for the event *raw*; None if it has another shape.

        The common case, a short path: for a template whose text `is_sole`.
        """
        if not (raw.startswith(self.head) and raw.endswith(self.tail)):
            return None
        text = raw[self.span]
        if not is_text(text):
            return None
        if not self.out:
            return raw
        before, behind = self.sides
        return before + (as_sent(text) if self.is_anew else text) + behind

    def fit(self, raw: bytes) -> list[bytes] | None:
        """Return the texts of the event *raw*; None if it has another shape."""
        if not (raw.startswith(self.head) and raw.endswith(self.tail)):
            return None
        return self._texts(raw) or None

    def after(self, texts: list[bytes]) -> list[bytes]:
        """Return the parts of what is sent for it, if that is not what was received."""
        if self.is_anew:
            texts = [*map(as_sent, texts)]
        return [texts[part] if isinstance(part, int) else part for part in self.out]

    def added(self, texts: list[bytes]) -> Iterator[tuple[int, int, str]]:
        """Yield (choice, call, arguments) of the tool calls that an event continues."""
        return ((choice, call, read(texts[at])) for choice, call, at in self.calls)

    def _texts(self, raw: bytes) -> list[bytes]:
        """Return the texts of *raw*, none if they do not fit."""
        texts = []
        at = len(self.head)
        for part in self.between:
            end = raw.find(part, at)
            if end < 0:
                return []
            texts.append(raw[at:end])
            at = end + len(part)
        texts.append(raw[at : -len(self.tail)])
        if at > len(raw) - len(self.tail) or first_equal_index(texts) != self.same:
            return []
        for number, text in enumerate(texts):
            if not (_IS_COUNT if number in self.counts else _IS_TEXT)(text):
                return []
        return texts


def is_unicode(raw: bytes) -> bool:
    """Tell whether *raw* is UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_text(text: bytes) -> bool:
    """Tell whether *text* is one that is not empty, as JSON spells it between quotes."""
    if not text:
        return False
    # Of a short text that is the quickest test.
    return not text.strip(PLAIN) or _IS_TEXT(text) is not None


def is_count(text: bytes) -> bool:
    """Tell whether *text* is a number that counts something."""
    return _IS_COUNT(text) is not None


def read(text: bytes) -> str:
    """Return what *text*, as it is spelled in JSON between its quotes, says."""
    said = text.decode()
    return said if said.find("\\") < 0 else str(json.loads(f'"{said}"'))


def as_sent(text: bytes) -> bytes:
    """Return *text* as it is spelled where an event is written anew."""
    # Quicker than `in`, which tries numbers first.
    return dumps(read(text))[1:-1] if text.find(b"\\") >= 0 else text


def first_equal_index(texts: Sequence[object]) -> tuple[int, ...]:
    """Return, for each text, the index of the first equal text."""
    return tuple(map(texts.index, texts))
