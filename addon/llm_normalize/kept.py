"""What came of one answer and what left, kept for mitmweb, `-w` files and commands.

Bounded, and in blocks, for what grows in one piece is copied again and again. What came
is packed: a stream says most of what it says many times.
"""

import zlib
from collections.abc import Sequence

LIMIT = 4 * 1024 * 1024
"""Bytes that are kept of either."""

_BLOCK = 16 * 1024
_LARGEST = 2 * LIMIT  # bytes of a block, unpacked: one read may be as long as the limit


class Kept:
    """The beginning of one answer, before and after.

    Args:
        both: Whether what came is kept as well, not only what left.
    """

    def __init__(self, *, both: bool = False) -> None:
        self._both = both
        self._blocks: list[tuple[bytes, bytes | None]] = []
        # What left, and what came, packed; None if that is the same.
        self._came: list[bytes] = []  # since the last block
        self._left: list[bytes] = []
        self._size = 0  # of both, since then
        self._due = 1  # of it, for the next block: the first bytes are one
        self._came_room = self._left_room = LIMIT
        self._is_cut = False

    def take(self, came: bytes) -> None:
        """Take what came, or a part of it, before `add` tells what left for it."""
        if self._both:
            self._came.append(came)
            self._size += len(came)

    def add(self, left: bytes) -> bool:
        """Take what left, and tell whether a block is full: now and then, one is."""
        self._left.append(left)
        self._size += len(left)
        if self._size < self._due:
            return False
        self._gather()
        return True

    @property
    def body(self) -> bytes:
        """What left, up to a limit."""
        self._gather()
        return b"".join(left for left, _ in self._blocks)

    @property
    def is_cut(self) -> bool:
        """Whether more has come, or left, than is kept."""
        self._gather()
        return self._is_cut

    @property
    def came(self) -> list[bytes]:
        """What came, packed, for `unpacked`; nothing if it left as it came."""
        self._gather()
        if all(came is None for _, came in self._blocks):
            return []
        return [
            zlib.compress(left, 1) if came is None else came
            for left, came in self._blocks
        ]

    def _gather(self) -> None:
        """Make a block of what came and left since the last one."""
        left = b"".join(self._left)
        came = b"".join(self._came) if self._both else left
        self._left.clear()
        self._came.clear()
        self._size = 0
        if left:
            self._due = _BLOCK
        is_same = came == left
        self._is_cut |= len(left) > self._left_room or len(came) > self._came_room
        left, came = left[: self._left_room], came[: self._came_room]
        self._left_room -= len(left)
        self._came_room -= len(came)
        if left or came:
            self._blocks.append((left, None if is_same else zlib.compress(came, 1)))


def unpacked(came: Sequence[bytes]) -> bytes:
    """Return what came, of which `Kept.came` is the packed form.

    Raises:
        ValueError: It is no such thing: it comes from a file, so it may be anything.
    """
    blocks = []
    try:
        for block in came:
            blocks.append(zlib.decompressobj().decompress(block, _LARGEST))
            if sum(map(len, blocks)) > _LARGEST:
                break
    except (TypeError, zlib.error) as error:
        raise ValueError(f"what came is damaged ({error})") from error
    return b"".join(blocks)
