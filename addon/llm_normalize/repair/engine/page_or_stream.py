"""A stream that turns out to be a web page or plain text: the text becomes an error event.

Its headers have been sent by then, so its status stays.
"""

import re
from typing import Any

from ...chat.errors.failed_body import is_page_or_words
from ...wire.json_text import dumps
from ...wire.sse import BOM, encode
from ..outcome import EventRecord
from .pipeline import Pipeline

_MAX_HELD = 64 * 1024  # bytes that are held for the end
_FIELDS = (b"data", b"event", b"id", b"retry")
_EVENT = re.compile(
    rb"\A(?:[:{\[\"]|(?:data|event|id|retry) ?(?:[:\r\n]|\Z))"
    rb"|[\r\n](?:data|event|id|retry) ?:|\"choices\""
)
_LONGEST = 16  # bytes of a match
_WORDS = "text/plain"


class PageOrStream(Pipeline):
    """A pipeline for a body that may not be an event stream. See `Pipeline`.

    It holds such a body until it ends, then sends it as one error event. SSE events are
    never held, because none starts like this.
    """

    def __init__(self, *of: Any, **more: Any) -> None:
        super().__init__(*of, **more)
        self._words = b""
        self._is_ordinary = False

    def _opening(self, data: bytes) -> bytes:
        """What is to be read of the first *data*: nothing while it may be a page or words."""
        words = self._words + data
        # Newlines keep the connection alive.
        if self._is_ordinary or not words.strip(b"\r\n"):
            return data
        begun = b"" if BOM.startswith(words) else words.removeprefix(BOM).lstrip()
        is_field = any(each.startswith(begun) for each in _FIELDS)
        unread = max(len(begun) - len(data) - _LONGEST, 0)
        if is_field or not (_EVENT.search(begun, unread) or len(words) > _MAX_HELD):
            self._words = words
            return b""
        self._words = b""
        self._is_ordinary = True
        return words

    @property
    def holds(self) -> bool:
        """Whether anything that was received has not been sent."""
        return bool(self._words) or super().holds

    def end(self) -> list[bytes]:
        """The bytes to send at a clean end of the stream. Never raises."""
        return [*self._as_error(), *super().end()]

    def release(self, *, silent: bool = False, last: bool = False) -> list[bytes]:
        """The bytes held long enough; text is held until the *last* read."""
        error = self._as_error() if last else []
        return [*error, *super().release(silent=silent, last=last)]

    def _as_error(self) -> list[bytes]:
        """Return the held text as an error event; if it is not text, return it repaired."""
        words, self._words = self._words, b""
        if not words:
            return []
        record = EventRecord(self.parser.count, words)
        if is_page_or_words(words, _WORDS):
            error = self._chain.error(record, words.removeprefix(BOM).decode())
            if record.fixes:
                self.parser.count += 1
                self.output.emit(record, encode(dumps(error)))
                self.output.close(record)
                return self.output.drain()
        self._is_ordinary = True
        return self.feed(words)

    def rescue(self) -> bytes:
        """Return everything held, as received: the repair of this stream is over."""
        words, self._words = self._words, b""
        return super().rescue() + self.output.passed(words)

    def abandon(self) -> bool:
        """Close the records of a stream that broke off; tell whether anything was held."""
        return super().abandon() or bool(self._words)
