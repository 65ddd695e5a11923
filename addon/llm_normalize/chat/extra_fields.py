"""Notes: what a chunk says beside its choices and its usage."""

from ..wire.json_text import dumps
from .chunks.chunk import Chunk
from .errors.chunk_errors import errors_in, is_error
from .errors.failed_body import fails_instead

MAX_EXTRA_BYTES = 64 * 1024
"""Bytes of what dropped chunks held that wait for another; beyond it they are sent at once."""


def size_of(notes: Chunk) -> int:
    """Return how much *notes* take in a chunk: that of two is the sum."""
    return len(dumps(notes)) - 1 if notes else 0


def fails(chunk: Chunk) -> bool:
    """Tell whether *chunk* is an error, or brings one beside its choices."""
    is_failure = is_error(chunk) or fails_instead(chunk, has_begun=True)
    return is_failure or bool(errors_in(chunk))
