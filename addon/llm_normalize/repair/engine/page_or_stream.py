"""A stream that turns out to be a web page or plain text: the text becomes an error event.

Its headers have been sent by then, so its status stays.
"""

import re

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

    def _may_be_body(self, begun: bytearray, new: int) -> bool:
        """Tell whether what has *begun*, *new* bytes of it now, may be a page or words."""
        text = b"" if BOM.startswith(begun) else begun.removeprefix(BOM).lstrip()
        if any(each.startswith(text) for each in _FIELDS):
            return True
        unread = max(len(text) - new - _LONGEST, 0)
        return not (_EVENT.search(text, unread) or len(begun) > _MAX_HELD)

    def _body(self, body: bytes, broke: bool) -> None:
        """Send a page or words as an error event; else *body* stays due."""
        if not is_page_or_words(body, _WORDS):
            return
        record = EventRecord(self.parser.count, body)
        error = self._chain.error(record, body.removeprefix(BOM).decode())
        if record.fixes:
            self.parser.count += 1
            self._due = b""
            self.output.emit(record, encode(dumps(error)))
            self.output.close(record)
