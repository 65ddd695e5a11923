"""The one memory of a stream: what is around the text of an event, as received and as sent.

Most events of a stream differ in the text of one choice alone. Two of them that were
parsed one after the other, with different texts, while nothing waits and no fix reads
their words, show what is around it; an event like them is sent without being parsed. Any
other event is parsed, and ends the memory.

It saves time and nothing else: without it every byte is sent the same.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ..chat.chunks.chunk import Chunk, calls, choices
from ..wire.json_text import PLAIN, dumps
from .outcome import EventRecord
from .payload import FEW

_KEYS = ("content", "reasoning_content", "reasoning")
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


@dataclass(slots=True)  # not frozen: that would take three times as long to make
class Around:
    """What is around the text of events, as received and as sent. It does not change.

    Attributes:
        head: The bytes before the text, as received.
        tail: The bytes behind it.
        before: The bytes before the text, as sent.
        behind: The bytes behind it.
        fixes: Names of the fixes that change the event.
    """

    head: bytes
    tail: bytes
    before: bytes
    behind: bytes
    fixes: tuple[str, ...]

    def text_in(self, raw: bytes) -> bytes:
        """Return the text of the event *raw*; empty if that is another event."""
        if not (raw.startswith(self.head) and raw.endswith(self.tail)):
            return b""
        text = raw[len(self.head) : -len(self.tail)]
        return text if not text.strip(PLAIN) or _is_as_written(text) else b""


class TextMemory:
    """What one stream remembers."""

    def __init__(self) -> None:
        self.known: Around | None = None
        """What is around the texts of the last events; None if they are not alike."""
        self._last: _Text | None = None

    def forget(self) -> None:
        """Forget it: the next events are parsed."""
        self.known = self._last = None

    def learn(self, record: EventRecord, chunk: Chunk, read: AbstractSet[str]) -> None:
        """Learn from an event that was parsed and sent at once, while nothing waits.

        Args:
            record: The event.
            chunk: The chunk that was sent.
            read: The keys of a delta whose words any fix reads.
        """
        last, self._last = self._last, _around(record, chunk)
        self.known = None
        if last is None or self._last is None:
            return
        around, text, key = self._last
        if last[0] == around and last[1] != text and key not in read:
            self.known = around


type _Text = tuple[Around, bytes, str]
"""What is around the text of an event, the text, and its key in the delta."""


def _around(record: EventRecord, chunk: Chunk) -> _Text | None:
    """Return what is around the text of an event, if it has one, and that once."""
    raw, found = record.before or b"", choices(chunk)
    if len(raw) > FEW or not raw.endswith(b"\n\n"):
        return None
    if len(record.after) != 1 or len(found) != 1:
        return None
    delta = found[0].get("delta")
    if not isinstance(delta, dict) or calls(delta) or delta.get("function_call"):
        return None
    keys = [key for key in _KEYS if delta.get(key)]
    if len(keys) != 1 or not isinstance(delta[keys[0]], str):
        return None
    text = dumps(delta[keys[0]])
    sides, sent = raw.split(text), record.after[0].split(text)
    if len(sides) != 2 or len(sent) != 2:  # noqa: PLR2004 - it may be found elsewhere
        return None
    head, tail, before, behind = (*sides, *sent)
    around = Around(
        head + b'"', b'"' + tail, before + b'"', b'"' + behind, tuple(record.fixes)
    )
    return around, text[1:-1], keys[0]
