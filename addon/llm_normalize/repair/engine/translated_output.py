"""The output of a stream whose client speaks another protocol than its provider."""

from dataclasses import replace
from typing import Any, Protocol

from ...chat.errors.errors import wrapped
from ...wire.event_boundary import EVENT
from ...wire.json_text import dumps
from ...wire.sse import encode
from ..outcome import EventRecord
from .output import Output

TRANSLATED = "translated"
"""What stands among the fixes of each event."""
_FAILED = "The proxy failed at the answer of the provider."


class Translate(Protocol):
    """Returns what the client gets for bytes of a repaired stream, whatever their cut.

    Attributes:
        is_over: Whether it has returned the last event: nothing follows it.
    """

    is_over: bool

    def __call__(self, data: bytes, /) -> bytes:
        """The client's bytes for *data*."""


class TranslatedOutput(Output):
    """Translates what has been repaired. See `Output`.

    Args:
        of: What `Output` is given.
        translate: Translates.
    """

    translate: Translate
    # The share of a parsed event that translating takes.
    cost = Output.cost + EVENT // 8

    def __init__(self, *of: Any, translate: Translate, verbatim: bool) -> None:
        super().__init__(*of, verbatim=verbatim)
        self.translate = translate
        self._repaired: list[bytes] = []  # what was emitted of the record at hand

    @property
    def is_over(self) -> bool:
        """Whether the client has got the last event of its protocol."""
        return self.translate.is_over

    def pass_on(self, data: bytes) -> None:
        """Send what becomes of *data*, which belongs to no record."""
        super().pass_on(self.translate(data))

    def emit(self, record: EventRecord, data: bytes) -> None:
        """Send what becomes of *data*, which belongs to *record*, if anything does."""
        record.fixed(TRANSLATED)
        if record is self.record:  # not what another event lets go
            self._repaired.append(data)
        if translated := self.translate(data):
            super().emit(record, translated)

    def open_record(self, record: EventRecord) -> None:
        """Open a record."""
        super().open_record(record)
        self._repaired = []

    def repaired(self, record: EventRecord) -> EventRecord:
        """Return *record*, the last one that was begun, as it is untranslated."""
        return replace(record, after=self._repaired)

    def undo(self, record: EventRecord) -> None:
        """Let the client know of a bug: what was translated cannot be taken back."""
        self.emit(record, encode(dumps(wrapped(_FAILED, "server_error", None, None))))
