"""The output of a stream whose client speaks another protocol than its provider."""

from collections.abc import Callable
from typing import Any

from ..chat.errors import wrapped
from ..wire.json_text import dumps
from ..wire.sse import encode
from .outcome import EventRecord
from .output import Output

TRANSLATED = "translated"
"""What stands among the fixes of each event."""
_FAILED = "The proxy failed at the answer of the provider."


class TranslatedOutput(Output):
    """Translates what has been repaired. See `Output`.

    Args:
        translate: Returns what the client gets for bytes of a repaired stream, whatever
            their cut; nothing after an error.
        of: What `Output` is given.
    """

    def __init__(
        self, *of: Any, translate: Callable[[bytes], bytes], verbatim: bool
    ) -> None:
        super().__init__(*of, verbatim=verbatim)
        self._translate = translate

    @property
    def is_unsettled(self) -> bool:
        """Whether what becomes of an event may depend on more than the stream's state."""
        return True

    def pass_on(self, data: bytes) -> None:
        """Send what becomes of *data*, which belongs to no record."""
        super().pass_on(self._translate(data))

    def emit(self, record: EventRecord, data: bytes) -> None:
        """Send what becomes of *data*, which belongs to *record*, if anything does."""
        record.fixed(TRANSLATED)
        if translated := self._translate(data):
            super().emit(record, translated)

    def undo(self, record: EventRecord) -> None:
        """Let the client know of a bug: what was translated cannot be taken back."""
        self.emit(record, encode(dumps(wrapped(_FAILED, "server_error", None, None))))
