"""What came of one answer and what left, kept for mitmweb, `-w` files and commands.

Bounded, and in blocks, for what grows in one piece is copied again and again. What came
is packed: a stream says most of what it says many times.
"""

import zlib
from collections.abc import Sequence

KEY = "llm_normalize"
"""Where a flow's metadata holds the record that the view shows."""
VERSION = 2
"""Of what is there."""

LIMIT = 4 * 1024 * 1024
"""Bytes that are kept of either."""

_BLOCK = 16 * 1024
_MOST = 4 * LIMIT // _BLOCK  # blocks
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
        self._has_left = False
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
        is_first = bool(left) and not self._has_left
        if self._size < _BLOCK and not is_first:
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
    def came(self) -> list[bytes] | None:
        """What came, packed, for `unpacked`.

        Nothing if it left as it came, None if it is not kept.
        """
        if not self._both:
            return None
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
        self._has_left = self._has_left or bool(left)
        kept_left, kept_came = left[: self._left_room], came[: self._came_room]
        # What is cut ends there: nothing later may look as if it followed.
        self._left_room = _room(self._left_room, left)
        self._came_room = _room(self._came_room, came)
        self._is_cut |= len(kept_left) < len(left) or len(kept_came) < len(came)
        if kept_left or kept_came:
            is_same = kept_left == kept_came
            packed = None if is_same else zlib.compress(kept_came, 1)
            self._blocks.append((kept_left, packed))


def _room(room: int, block: bytes) -> int:
    """Return the room that is left behind *block*: none where it did not fit."""
    return max(0, room - len(block))


def unpacked(came: Sequence[bytes]) -> bytes:
    """Return what came, of which `Kept.came` is the packed form.

    Raises:
        ValueError: It is no such thing: it comes from a file, so it may be anything.
    """
    blocks, size = [], 0
    try:
        for block in came[:_MOST]:
            blocks.append(zlib.decompressobj().decompress(block, _LARGEST))
            size += len(blocks[-1])
            if size > _LARGEST:
                break
    except (TypeError, zlib.error) as error:
        raise ValueError(f"what came is damaged ({error})") from error
    return b"".join(blocks)
