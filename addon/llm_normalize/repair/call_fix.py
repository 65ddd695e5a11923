"""Fixes whose quirk the assembler of calls repairs in streams: they only declare it."""

from ..chat.chunks.chunk import Chunk
from ..chat.tool_calls.assembler import Assembler
from .fix import Fix


class CallFix(Fix):
    """A fix that repairs bodies itself; in a stream the assembler knows its name.

    Attributes:
        assembler: The assembler of the stream.
    """

    key = "call"
    assembler: Assembler


class AssembledCalls(CallFix):
    """Asks the assembler, at the place of the first fix that it stands for."""

    name = "tool-calls-assembled"
    holds_calls = True

    @property
    def repaired(self) -> list[str]:
        """The quirks that the assembler has repaired."""
        return self.assembler.repaired

    @property
    def waiting(self) -> object:
        """Which calls have no name yet."""
        return self.assembler.waiting

    @property
    def watched(self) -> tuple[str, ...]:
        """The arguments, where they are not sent as received."""
        return ("arguments",) if self.assembler.is_busy else ()

    def edit(self, chunk: Chunk) -> bool:
        """Leave in *chunk* what is sent of its calls."""
        self._parts = self.assembler.take(chunk)
        return bool(self.assembler.repaired)

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Send the parts of the chunk, and what waited before it."""
        return self._parts if len(self._parts) > 1 else None

    def flush(self) -> list[Chunk]:
        """Note that no name follows."""
        self.assembler.settle()
        return []

    def end(self, indexes: set[int] | None, *, briefly: bool = False) -> list[Chunk]:
        """Send what is held."""
        return self.assembler.end(indexes, briefly=briefly)

    def undo(self, n: int) -> None:
        """Hold what was held before the event."""
        self.assembler.undo(n)
