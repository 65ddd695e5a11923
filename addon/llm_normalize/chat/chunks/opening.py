"""An opening with `content: null`, which may be a text's or a tool call's."""

from .chunk import Chunk, deltas
from .chunk_content import stands_for_text


def is_open_null(chunk: Chunk, new: set[int]) -> bool:
    """Tell whether *chunk* has only roles and null, of choices that are *new*."""
    found = deltas(chunk)
    return bool(found) and all(
        index in new
        and delta.get("content", "") is None
        and choice.get("finish_reason") is None
        and not any(value for key, value in delta.items() if key != "role")
        for index, choice, delta in found
    )


def open_texts(opening: Chunk, following: Chunk) -> bool:
    """Let *opening* open a text where *following* calls no tool; tell whether any is.

    Args:
        opening: The chunk with null, changed in place.
        following: The one behind it; empty if there is none.
    """
    called = {
        index
        for index, _, delta in deltas(following)
        if stands_for_text(delta) and not delta.get("content")
    }
    texts = [
        delta
        for index, _, delta in deltas(opening)
        if delta.get("content", "") is None and index not in called
    ]
    for delta in texts:
        delta["content"] = ""
    return bool(texts)
