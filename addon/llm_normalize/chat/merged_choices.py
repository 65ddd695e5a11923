"""Two choices of one answer made one: their texts, lists and objects joined."""

from .chunks.chunk import EVERY_REASONING, Chunk
from .chunks.chunk_content import has_content_besides_calls, is_hollow
from .errors.errors import text_of

_PARTS = ("delta", "message")
_TEXTS = frozenset(("content", "refusal", "text", "arguments", *EVERY_REASONING))


def has_delta_text(choice: Chunk) -> bool:
    """Tell whether *choice* has a text in its delta, or one that becomes a delta."""
    delta, message = choice.get("delta"), choice.get("message")
    if isinstance(delta, dict) and not is_hollow(delta.get("content")):
        return True
    is_said = isinstance(message, dict) and has_content_besides_calls(message)
    return isinstance(choice.get("text"), str) and bool(choice["text"]) and not is_said


def name_text(one: Chunk, other: Chunk, *, repeats: bool) -> None:
    """Let a text that is all of *one* be the delta or message that *other* has.

    A message that only *repeats* what deltas have sent is dropped: the text is no part of
    it then.
    """
    keys = [key for key in _PARTS if key in other]
    if keys and isinstance(one.get("text"), str) and one.keys().isdisjoint(_PARTS):
        part = other[keys[0]]
        is_more = not isinstance(part, dict) or part.get("content")
        one[keys[0] if is_more and not repeats else "delta"] = {
            "content": one.pop("text")
        }


def merge_choice(first: Chunk, more: Chunk) -> None:
    """Add to *first* what *more* says: its texts and lists behind those of *first*."""
    for key, value in more.items():
        old = first.get(key)
        kinds = {type(old), type(value)} - {type(None)}
        if key in _PARTS and dict in kinds and len(kinds) > 1:
            parts = [x if isinstance(x, dict) else {"content": x} for x in (old, value)]
            old, value = first[key], _ = parts  # noqa: PLW2901 - a text is a delta's
        preferred = key == "finish_reason" and value == "tool_calls"
        if preferred or old in (None, "", [], {}):
            first[key] = old if value is None else value
        elif isinstance(old, dict) and isinstance(value, dict):
            merge_choice(old, value)
        elif value and list in (type(old), type(value)):
            lists = [x if isinstance(x, list) else [x] for x in (old, value)]
            first[key] = lists[0] + lists[1]
        elif value and key in _TEXTS:
            first[key] = (text_of(old) or "") + (text_of(value) or "")


def listed_parts(choice: Chunk) -> list[str]:
    """Return the keys of *choice* under which a delta or message is a list."""
    return [key for key in _PARTS if isinstance(choice.get(key), list)]


def join_parts(choice: Chunk) -> bool:
    """Let a delta or message that is a list be all that its objects say, in place.

    Returns:
        Whether there is one.
    """
    listed = listed_parts(choice)
    for key in listed:
        joined: Chunk = {key: {}}
        for part in choice[key]:
            merge_choice(joined, {key: part})
        choice[key] = joined[key]
    return bool(listed)
