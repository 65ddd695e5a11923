"""Extra fields: what a chunk has beside its choices and its usage."""

from ..wire.json_text import dumps
from .chunks.chunk import Chunk
from .errors.chunk_errors import errors_in, is_error
from .errors.failed_body import fails_instead

MAX_EXTRA_BYTES = 64 * 1024
"""Bytes of extra fields that are held for another chunk; more are sent at once."""


def size_of(extra: Chunk) -> int:
    """Return how many bytes the *extra* fields take in a chunk; sizes can be added."""
    return len(dumps(extra)) - 1 if extra else 0


def fails(chunk: Chunk) -> bool:
    """Tell whether *chunk* is an error, or has one beside its choices."""
    is_failure = is_error(chunk) or fails_instead(chunk, has_begun=True)
    return is_failure or bool(errors_in(chunk))
