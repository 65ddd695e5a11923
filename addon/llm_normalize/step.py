"""What happened to one block of a stream, and the parts of it that may still wait."""

from dataclasses import dataclass, field

from .chunk import Chunk, dumps
from .sse import encode


@dataclass(slots=True)
class Step:
    """One upstream block, before and after.

    Attributes:
        n: The block's place in the upstream's stream; for an event that was added, the
            place of the event it follows.
        before: The block's bytes as they came; None for an event that was added.
        after: What left in its place, in order; empty when it was dropped.
        fixes: Names of the fixes that changed it, in order, each once.
        waiting: Parts of it that have not left yet.
    """

    n: int
    before: bytes | None
    after: list[bytes] = field(default_factory=list)
    fixes: list[str] = field(default_factory=list)
    waiting: int = 0

    def fixed(self, name: str) -> None:
        """Note that the fix *name* changed this block."""
        if name not in self.fixes:
            self.fixes.append(name)

    @property
    def changed(self) -> bool:
        """Whether the client got other bytes than the provider sent."""
        return bool(self.fixes) and b"".join(self.after) != self.before


@dataclass(slots=True)
class Piece:
    """A chunk on its way out, with its bytes as long as nothing changed it."""

    step: Step
    chunk: Chunk
    raw: bytes | None

    def fixed(self, name: str) -> None:
        """Note that the fix *name* changed this chunk."""
        self.raw = None
        self.step.fixed(name)

    def encode(self) -> bytes:
        """Return the chunk as it is to leave."""
        return encode(dumps(self.chunk)) if self.raw is None else self.raw
