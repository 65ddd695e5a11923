"""What happened to one block of a stream, and the parts of it that may still wait."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ..chat.chunks.chunk import Chunk, Tokens
from ..chat.state.said_answer import SaidAnswer
from ..wire.json_text import dumps
from ..wire.sse import encode

BLANK = "blank-line-missing"
"""The fix that ends an event where no blank line does."""


class Outcome(StrEnum):
    """What became of an event: it was understood, or passes as it is, and why."""

    UNDERSTOOD = "understood"
    NOT_JSON = "not-json"
    NOT_A_CHUNK = "not-a-chunk"
    FOREIGN_LINE = "foreign-line"
    REPEATED_KEY = "repeated-key"
    BAD_ENCODING = "bad-encoding"
    TOO_LARGE = "too-large"
    TOO_MANY = "too-many"

    @property
    def may_be_framing(self) -> bool:
        """Whether another framing may show what the event says."""
        return self in (Outcome.NOT_JSON, Outcome.NOT_A_CHUNK)

    @property
    def is_unreadable(self) -> bool:
        """Whether no client can read the event, in any framing."""
        return self.may_be_framing or self is Outcome.FOREIGN_LINE


@dataclass(slots=True)
class EventRecord:
    """One upstream block, before and after.

    Attributes:
        n: The block's place in the upstream's stream; for an event that was added, the
            place of the event it follows.
        before: The block's bytes as received; None for an event that was added.
        after: What was sent in its place, in order; empty when it was dropped.
        fixes: Names of the fixes that changed it, in order, each once.
        waiting: Parts of it that have not been sent yet.
        moved: Whether a later block was sent before it.
        status: The HTTP status that a body should have had, if another one.
        tokens: What a body's usage counts.
        said: What the client may not send back of a body.
    """

    n: int
    before: bytes | None
    after: list[bytes] = field(default_factory=list)
    fixes: list[str] = field(default_factory=list)
    waiting: int = 0
    moved: bool = False
    status: int | None = None
    tokens: Tokens = (None, None)
    said: SaidAnswer | None = None

    def fixed(self, *names: str) -> None:
        """Record that the fixes of these *names* changed this block."""
        self.fixes += [name for name in names if name not in self.fixes]

    @property
    def changed(self) -> bool:
        """Whether the client got other bytes than the provider sent, or later."""
        if not self.fixes:
            return False
        same = b"".join(self.after) == self.before
        return not same or self.moved or bool(self.status)


class Close(Protocol):
    """Sends what fixes hold: see `EventRepair.close`."""

    def __call__(
        self, record: EventRecord, indexes: set[int] | None, *, briefly: bool = False
    ) -> None:
        """Send what they hold of choices that end, as part of *record*."""


@dataclass(slots=True)
class Outgoing:
    """A chunk on its way out, with its bytes as long as nothing changed it."""

    record: EventRecord
    chunk: Chunk
    raw: bytes | None
    is_through: bool = False
    """Whether the fixes that ride on others have had their turn."""
    found: int = 0
    """What the last look at it found: bits of `Finding`."""

    def fixed(self, name: str) -> None:
        """Record that the fix *name* changed this chunk."""
        self.raw = None
        self.record.fixed(name)

    def encode(self) -> bytes:
        """Return the chunk as it is to be sent."""
        return encode(dumps(self.chunk)) if self.raw is None else self.raw


class Emitter(Protocol):
    """Sends what belongs to a record: see `Output`."""

    def emit(self, record: EventRecord, data: bytes, /) -> None:
        """Send bytes that belong to *record*."""

    def close(self, record: EventRecord, /) -> None:
        """Hand *record* over, unless a part of it waits."""


class ChunkSender:
    """Where chunks are sent, and where some wait.

    Args:
        output: What sends.
        ride: Applies what rides on repairs to what was changed after all fixes.
    """

    __slots__ = ("_held", "_output", "_ride")

    def __init__(self, output: Emitter, ride: Callable[[Outgoing], None]) -> None:
        self._output = output
        self._ride = ride
        self._held: list[Outgoing] = []  # what waits, for any reason

    def close(self, record: EventRecord) -> None:
        """Hand *record* over, unless a part of it waits."""
        self._output.close(record)

    def send(self, outgoing: Outgoing) -> None:
        """Send *outgoing* now."""
        held = self._all_but(outgoing) if self._held else []
        if outgoing.raw is None and not outgoing.is_through:
            self._ride(outgoing)
        raw = outgoing.raw
        if raw is None:
            raw = encode(dumps(outgoing.chunk))
        self._output.emit(outgoing.record, raw)
        self._held = held

    def hold(self, outgoing: Outgoing) -> Outgoing:
        """Let *outgoing* wait, and return it."""
        outgoing.record.waiting += 1
        self._held.append(outgoing)
        return outgoing

    def release(self, outgoing: Outgoing) -> None:
        """Send *outgoing*, which waited."""
        self.send(outgoing)
        self.drop(outgoing)

    def drop(self, outgoing: Outgoing) -> None:
        """Send nothing for *outgoing*, which waited."""
        self._held = self._all_but(outgoing)
        outgoing.record.waiting -= 1
        self.close(outgoing.record)

    def rescue(self, failed: EventRecord | None) -> None:
        """Send all that waits, but nothing of the record that *failed*."""
        held, self._held = self._held, []
        for outgoing in held:
            record = outgoing.record
            record.waiting -= 1
            if record is failed:
                continue
            try:
                data = outgoing.encode()
            except Exception:  # noqa: BLE001 - the repair is over, whatever it was
                data = record.before if record.before and not record.after else b""
            self._output.emit(record, data)
            self.close(record)

    def _all_but(self, outgoing: Outgoing) -> list[Outgoing]:
        return [each for each in self._held if each is not outgoing]

    def add(self, n: int, chunk: Chunk | bytes, name: str) -> None:
        """Send a chunk, or an event, that the provider left out after event *n*."""
        record = EventRecord(n, None, fixes=[name])
        self._output.emit(
            record, chunk if isinstance(chunk, bytes) else encode(dumps(chunk))
        )
        self.close(record)
