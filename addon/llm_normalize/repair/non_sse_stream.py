"""A stream that turns out to be a web page or plain words: the words become an error event.

Its head has been sent when that is seen, so its status stays. Nothing that a client of
event streams can read waits: no event begins like that.
"""

import re
from collections.abc import Callable, Sequence

from ..chat.errors.failed_body import is_page_or_words
from ..chat.stream_state import Asked
from ..wire.json_text import dumps
from ..wire.sse import BOM, encode
from .fast_path.template import Template
from .fast_path.trace import Place
from .fix import Fix
from .outcome import EventRecord
from .output import Output
from .pipeline import Pipeline

_MOST = 64 * 1024  # bytes that wait for the end
_FIELDS = (b"data", b"event", b"id", b"retry")
_EVENT = re.compile(
    rb"\A(?:[:{\[\"]|(?:data|event|id|retry) ?(?:[:\r\n]|\Z))"
    rb"|[\r\n](?:data|event|id|retry) ?:|\"choices\""
)
_LONGEST = 16  # bytes of what it finds
_WORDS = "text/plain"


class NonSseStream(Pipeline):
    """A pipeline that waits for the end of what is no event stream. See `Pipeline`."""

    def __init__(
        self,
        asked: Asked,
        fixes: Sequence[type[Fix]],
        observe: Callable[[EventRecord], None],
        label: str,
        count: Callable[[int, bytes, bytes, Template], bool],
        make_output: Callable[..., Output] = Output,
        place: Place | None = None,
    ) -> None:
        super().__init__(asked, fixes, observe, label, count, make_output, place)
        self._words = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return what is sent when *data* is received, nothing of words. Never raises."""
        if self._parser.count:  # events that are known by other streams
            return self._let_go(data)
        words = self._words + data
        if not words.strip(b"\r\n"):  # it keeps the connection alive
            return super().feed(data)
        begun = b"" if BOM.startswith(words) else words.removeprefix(BOM).lstrip()
        is_field = any(each.startswith(begun) for each in _FIELDS)
        unread = max(len(begun) - len(data) - _LONGEST, 0)
        if is_field or not (_EVENT.search(begun, unread) or len(words) > _MOST):
            self._words = words
            self._trace.stop()
            return []
        return self._let_go(words)

    def _let_go(self, words: bytes) -> list[bytes]:
        """Return what is sent for *words*, and be a pipeline like any other from now on."""
        self._words = b""
        self.feed = super().feed  # type: ignore[method-assign] # for all reads to come
        return self.feed(words)

    @property
    def holds(self) -> bool:
        """Whether anything that was received has not been sent."""
        return bool(self._words) or super().holds

    def end(self) -> list[bytes]:
        """Return what is sent at a clean end of the stream. Never raises."""
        return [*self._as_error(), *super().end()]

    def release(self, *, last: bool = False) -> list[bytes]:
        """Return what has waited long enough; words do not, before the *last* of them."""
        error = self._as_error() if last else []
        return [*error, *super().release(last=last)]

    def _as_error(self) -> list[bytes]:
        """Return the error event of the words that wait, or them where they are none."""
        words, self._words = self._words, b""
        if not words:
            return []
        record = EventRecord(self._parser.count, words)
        if is_page_or_words(words, _WORDS):
            error = self._chain.error(record, words.removeprefix(BOM).decode())
            if record.fixes:
                self._parser.count += 1
                self.output.emit(record, encode(dumps(error)))
                self.output.close(record)
                return self.output.drain()
        return self._let_go(words)

    def rescue(self) -> bytes:
        """Return all that waits, as received: the repair of this stream is over."""
        words, self._words = self._words, b""
        return super().rescue() + self.output.passed(words)

    def abandon(self) -> bool:
        """Close the records of a stream that broke off; tell whether anything waited."""
        return super().abandon() or bool(self._words)
