"""The one memory of a stream: what is around the text of an event, as received and as sent.

Most events of a stream differ in the text of one choice alone, or in arguments of a call. One that was parsed and
sent at once, alone and while nothing waits, shows what is around it; an event like it, with a text
that no fix has to read, is sent without being parsed. Any other event is parsed, and ends
the memory.

In another protocol, its reader says of which event the next one may differ in words and
number alone.

It saves time and nothing else: without it every byte is sent the same.
"""

import re
from dataclasses import dataclass, field

from ...chat.chunks.chunk import REASONING, Chunk
from ...wire.json_text import PLAIN, dumps
from ..outcome import EventRecord
from .payload import FEW

_ONCE = 2  # parts around one place
ARGUMENTS = "arguments"
_KEYS = ("content", *REASONING)
_values = re.compile(
    rb'"(?:arguments|content|reasoning|reasoning_content|reasoning_text|summary|text)" *+: *+'
    rb'(?!""|null|\[\]|\[\{)'
).finditer
"""Finds where the values begin of keys that have a text: not empty, nor a list of parts."""
# As valid UTF-8 is, by table 3-7 of the Unicode standard: for a short text that is
# quicker than to decode it. Runs of one length, else a long text took four times as long.
_UNICODE = (
    rb"[ !#-\[\]-\x7f]++|(?:[\xc2-\xdf][\x80-\xbf])++"
    rb"|(?:[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf])++"
    rb"|(?:\xe0[\xa0-\xbf][\x80-\xbf])++|(?:\xed[\x80-\x9f][\x80-\xbf])++"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_is_as_written = re.compile(rb'(?:%b|\\["\\bfnrt])++' % _UNICODE).fullmatch
"""Matches a text that is spelled as `dumps` spells it."""

_NUMBER = re.compile(
    rb'(?:(?<="sequence_number":)|(?<="sequence_number": ))(?:0|[1-9]\d{0,15})(?=[,}])'
).finditer
"""Finds the number of an event."""


@dataclass(slots=True)  # not frozen: that would take three times as long to make
class Around:
    """What is around the text of events, as received and as sent. It does not change.

    The text may be there more than once: reasoning under two names, say.

    Attributes:
        received: The bytes before, between and behind the places of the text.
        sent: The same of what is sent.
        fixes: Names of the fixes that change the event.
    """

    received: tuple[bytes, ...]
    sent: tuple[bytes, ...]
    fixes: tuple[str, ...]
    _size: int = field(init=False, compare=False)  # of all that is received around it

    def __post_init__(self) -> None:
        self._size = sum(map(len, self.received))

    def text_in(self, raw: bytes) -> bytes:
        """Return the text of the event *raw*; empty if that is another event."""
        received = self.received
        if not (raw.startswith(received[0]) and raw.endswith(received[-1])):
            return b""
        places, begin = len(received) - 1, len(received[0])
        size = len(raw) - self._size
        if places == 1:
            text = raw[begin : begin + size]
        else:
            text = raw[begin : begin + max(size // places, 0)]
            if text.join(received) != raw:
                return b""
        return text if not text.strip(PLAIN) or _is_as_written(text) else b""


class _Numbered:
    """The bytes around the text of an event that has a number, and of those behind it.

    Args:
        parts: The bytes.
    """

    __slots__ = ("_at", "_before", "_behind", "_number", "parts")

    def __init__(self, parts: tuple[bytes, ...]) -> None:
        self.parts = parts
        found = [(at, each) for at, part in enumerate(parts) for each in _NUMBER(part)]
        self._at, self._before, self._behind, self._number = -1, b"", b"", 0
        if len(found) == 1:
            self._at, number = found[0]
            part = parts[self._at]
            self._before, self._behind = part[: number.start()], part[number.end() :]
            self._number = int(number[0])

    @property
    def counts(self) -> bool:
        """Whether there is one number."""
        return self._at >= 0

    def count_on(self) -> None:
        """Be what is around the text of the next one."""
        if self._at >= 0:
            self._number += 1
            part = b"%b%d%b" % (self._before, self._number, self._behind)
            self.parts = (*self.parts[: self._at], part, *self.parts[self._at + 1 :])


class TextMemory:
    """What one stream remembers."""

    def __init__(self) -> None:
        self._fixes: tuple[str, ...] = ()
        self.known: Around | None = None
        """What is around the text of the last event; None if it was more than a text."""
        self.keys: tuple[str, ...] = ()
        """The keys of that text in the delta, or in the function that is called."""
        self._numbered: tuple[_Numbered, _Numbered] | None = None

    def forget(self) -> None:
        """Forget it: the next event is parsed."""
        self.known = self._numbered = None

    def follow(self, record: EventRecord, words: str) -> None:
        """Learn from an event of which the next one differs in words and number alone.

        Args:
            record: The event, of which nothing waits.
            words: Its words.
        """
        raw, text = record.before or b"", dumps(words)
        if len(record.after) != 1 or not raw.endswith(b"\n\n") or b"\r" in raw:
            return
        received, sent = _split(raw, text), _split(record.after[0], text)
        if not len(received) == len(sent) == _ONCE:
            return
        if not received[0][:-1].rstrip().endswith(b":"):
            return  # it is a key that is spelled as the text is
        one = _Numbered(received)
        other = one if sent == received else _Numbered(sent)
        self._numbered = (one, other) if one.counts or other.counts else None
        self._fixes = tuple(record.fixes)
        self.known = Around(received, sent, self._fixes)
        self.count_on()

    def count_on(self) -> None:
        """Know what is around the text of the next event, if they have numbers."""
        if self._numbered is None:
            return
        received, sent = self._numbered
        received.count_on()
        if sent is not received:
            sent.count_on()
        self.known = Around(received.parts, sent.parts, self._fixes)

    def learn(self, record: EventRecord, chunk: Chunk) -> None:
        """Learn from an event that was parsed and sent at once, while nothing waits.

        Args:
            record: The event.
            chunk: The chunk that was sent, with one choice that goes on with its text.
        """
        self.known, self.keys = _around(record, chunk) or (None, ())


def _around(record: EventRecord, chunk: Chunk) -> tuple[Around, tuple[str, ...]] | None:
    """What is around the text of an event, if it has one, and the keys of that text."""
    raw = record.before or b""
    if len(raw) > FEW or len(record.after) != 1 or not raw.endswith(b"\n\n"):
        return None
    delta = chunk["choices"][0]["delta"]
    keys = tuple([key for key in _KEYS if delta.get(key)])
    if called := delta.get("tool_calls"):  # which go on with their arguments alone
        delta, keys = called[0]["function"], (ARGUMENTS,)
    words = delta[keys[0]] if keys else None
    if not isinstance(words, str):
        return None
    if len(keys) > 1 and ("content" in keys or any(delta[x] != words for x in keys)):
        return None  # text and reasoning, each of which is stored, or two reasonings
    text = dumps(words)
    received, (after,) = _sides(raw, text), record.after
    sent = received if after == raw else _sides(after, text)
    if not 1 < len(received) <= len(sent):
        return None
    return Around(received, sent, tuple(record.fixes)), keys


def _sides(data: bytes, text: bytes) -> tuple[bytes, ...]:
    """Return the parts of *data* around a *text* in quotes, these with them.

    Empty if a key may be spelled as the text is, or a value elsewhere, which a fix might
    read; nor if another text is there, which may be the one, spelled in another way.
    """
    begins = [found.end() for found in _values(data)]
    if data.count(text) != len(begins):
        return ()
    for begin in begins:  # no generator: this is done for each event that is parsed
        if not data.startswith(text, begin):
            return ()
    return _split(data, text)


def _split(data: bytes, text: bytes) -> tuple[bytes, ...]:
    """Return the parts of *data* around a *text* in quotes; empty if it is not there."""
    first, *others = data.split(text)
    if not others:
        return ()
    *between, last = others
    return first + b'"', *[b'"%b"' % each for each in between], b'"' + last
