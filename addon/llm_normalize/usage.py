"""Where usage goes: once, at the end, and where the request expects it.

Asked for, it has a last chunk with `choices: []`, after every finish reason. Not asked
for, it rides on the last finish reason, so that no chunk without choices crashes a
client that did not ask for one. This keeps the figures; ending.py sends and holds.
"""

from .chunk import Chunk, Json
from .step import Piece
from .stream_state import Asked


def usage_of(chunk: Chunk) -> Json:
    """Return the usage that *chunk* carries, None where it says nothing."""
    return chunk.get("usage") or None


class Usage:
    """The usage of one stream: what came, and whether it has been sent.

    Args:
        asked: What the request asked.
        on: Names of the fixes that are to be applied.
    """

    def __init__(self, asked: Asked, on: set[str]) -> None:
        self.sent = False
        self.kept: Json = None
        """The last figures taken off a chunk, not sent yet."""
        self.fix = ""
        """The name of the fix that took them off."""
        self._asked = asked
        self._on = on

    def keep(self, chunk: Chunk, fix: str) -> None:
        """Keep the usage of *chunk*, which *fix* takes off it."""
        if not self.sent:
            self.kept = usage_of(chunk)
            self.fix = fix

    def ride(self, chunk: Chunk) -> None:
        """Put what is kept on *chunk*."""
        chunk["usage"] = self.kept
        self.kept = None
        self.sent = True

    def pass_by(self) -> None:
        """Note that a chunk with usage is sent as it is."""
        self.kept = None
        self.sent = True

    def take_off(self, piece: Piece, *, finishes: bool, last: bool) -> bool:
        """Take usage off a chunk with choices where OpenAI would not have put it.

        Args:
            piece: The chunk.
            finishes: Whether it brings a finish reason.
            last: Whether no choice is left open after it.

        Returns:
            Whether anything was taken off.
        """
        chunk = piece.chunk
        if not usage_of(chunk):
            return False
        if last and finishes and not self._asked.usage:
            repeated = self.sent and "usage-repeated" in self._on
            if repeated:
                del chunk["usage"]
                piece.fixed("usage-repeated")
            self.pass_by()
            return repeated
        at_end = finishes and self._asked.usage
        name = "usage-with-choices" if at_end else "usage-every-chunk"
        if name not in self._on:
            return False
        self.keep(chunk, name)
        if self._asked.usage:
            chunk["usage"] = None  # as in OpenAI's own chunks before the last
        else:
            del chunk["usage"]
        piece.fixed(name)
        return True
