"""What was received and sent of one answer, for mitmweb, `-w` files and commands.

Bounded, and in blocks: one growing value would be copied at each read. What was received
is packed: most of a stream is repetition.
"""

import zlib
from collections.abc import Sequence

KEY = "llm_normalize"
"""Where a flow's metadata holds the record that the view shows."""
VERSION = 2
"""Of what is there."""

MAX_STORED = 4 * 1024 * 1024
"""Bytes that are stored of either."""

_BLOCK = 16 * 1024
_MOST = 4 * MAX_STORED // _BLOCK  # blocks
_LARGEST = 2 * MAX_STORED
"""Bytes of a block, unpacked: one read may be as long as the limit."""


class Snapshot:
    """The beginning of one answer, before and after.

    Args:
        both: Whether what was received is stored as well, not only what was sent.
        is_on: Whether anything is.
    """

    def __init__(self, *, both: bool = False, is_on: bool = True) -> None:
        self.is_on = is_on
        """Whether anything is stored."""
        self.both = both
        """Whether what was received is stored."""
        self._blocks: list[tuple[bytes, bytes | None]] = []
        # What was sent, and what was received, packed; None if that is the same.
        self._received: list[bytes] = []  # since the last block
        self._sent: list[bytes] = []
        self._size = 0  # of both, since then
        self._has_sent = False
        self._received_room = self._sent_room = MAX_STORED
        self._is_cut = False

    def add_received(self, received: bytes) -> None:
        """Store what was received, or a part of it, before what is sent for it."""
        if self.both:
            self._received.append(received)
            self._size += len(received)

    def add_sent(self, sent: bytes) -> bool:
        """Store what was sent, and tell whether a block is full: now and then, one is."""
        if not self.is_on:
            return False
        self._sent.append(sent)
        self._size = size = self._size + len(sent)
        if size < _BLOCK and (self._has_sent or not sent):
            return False
        self._gather()
        return True

    @property
    def body(self) -> bytes:
        """What was sent, up to a limit."""
        self._gather()
        return b"".join(sent for sent, _ in self._blocks)

    @property
    def is_cut(self) -> bool:
        """Whether more was received, or sent, than is stored."""
        self._gather()
        return self._is_cut

    @property
    def received(self) -> list[bytes] | None:
        """What was received, packed, for `unpacked`.

        Empty if it was sent unchanged, None if it is not stored.
        """
        if not self.both:
            return None
        self._gather()
        if all(received is None for _, received in self._blocks):
            return []
        return [
            zlib.compress(sent, 1) if received is None else received
            for sent, received in self._blocks
        ]

    def _gather(self) -> None:
        """Make a block of what was received and sent since the last one."""
        sent = b"".join(self._sent)
        received = b"".join(self._received) if self.both else sent
        self._sent.clear()
        self._received.clear()
        self._size = 0
        self._has_sent = self._has_sent or bool(sent)
        sent_part, received_part = (
            sent[: self._sent_room],
            received[: self._received_room],
        )
        # What is cut ends there: nothing later may look as if it followed.
        self._sent_room = _room(self._sent_room, sent)
        self._received_room = _room(self._received_room, received)
        self._is_cut |= len(sent_part) < len(sent) or len(received_part) < len(received)
        if sent_part or received_part:
            is_same = sent_part == received_part
            packed = None if is_same else zlib.compress(received_part, 1)
            self._blocks.append((sent_part, packed))


NO_SNAPSHOT = Snapshot(is_on=False)
"""Of all answers of which nothing is stored."""


def _room(room: int, block: bytes) -> int:
    """Return the room that remains behind *block*: none where it did not fit."""
    return max(0, room - len(block))


def unpacked(received: Sequence[bytes]) -> bytes:
    """Unpack `Snapshot.received`.

    Raises:
        ValueError: It is damaged: it is read from a file, so it may be anything.
    """
    blocks, size = [], 0
    try:
        for block in received[:_MOST]:
            blocks.append(zlib.decompressobj().decompress(block, _LARGEST))
            size += len(blocks[-1])
            if size > _LARGEST:
                break
    except (TypeError, zlib.error) as error:
        raise ValueError(f"the original answer is damaged ({error})") from error
    return b"".join(blocks)
