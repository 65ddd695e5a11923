"""The content of chunks: whether a chunk has any, and whether it repeats another."""

from ...wire.json_text import Json
from .chunk import CHUNK_FRAME, Chunk, choices, reporting_parts, usage_of


def stands_for_text(part: Chunk) -> bool:
    """Tell whether a delta or message has what OpenAI sends with `content: null`."""
    return any(
        part.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")
    )


def delta_has_content(part: Chunk) -> bool:
    """Tell whether a delta or message has content: anything except its role."""
    return any(
        value not in (None, "", [], {}) for key, value in part.items() if key != "role"
    )


def has_content_besides_calls(part: Chunk) -> bool:
    """Tell whether a delta or message has content other than calls."""
    calls = ("tool_calls", "function_call")
    return delta_has_content(
        {key: value for key, value in part.items() if key not in calls}
    )


def chunk_has_content(chunk: Chunk) -> bool:
    """Tell whether *chunk* has content: anything except roles and its envelope."""
    usage = [
        each
        for part in reporting_parts(chunk)
        if isinstance(each := usage_of(part), dict)
    ]
    counted = any(any(each.values()) for each in usage)
    return counted or any(map(choice_has_content, choices(chunk)))


def choice_has_content(choice: Chunk) -> bool:
    """Tell whether a choice has content, a finish reason or log probabilities."""
    ended = choice.get("finish_reason") or choice.get("logprobs")
    return bool(ended) or has_answer(choice)


def has_answer(choice: Chunk) -> bool:
    """Tell whether a choice has content under any of the keys for it, except a role."""
    parts = [choice.get(key) for key in ("delta", "message", "text")]
    return any(isinstance(part, str) and part for part in parts) or any(
        delta_has_content(
            {
                k: v
                for k, v in part.items()
                if not isinstance(v, dict) or any(v.values())
            }
        )
        for part in parts
        if isinstance(part, dict)
    )


def is_silent(choice: Chunk) -> bool:
    """Tell whether the delta, message and text of *choice* are empty at every depth."""
    parts = [choice.get(key) for key in ("delta", "message")]
    fields = [
        {key: each for key, each in part.items() if key != "role"}
        for part in parts
        if isinstance(part, dict)
    ]
    bare = [part for part in (*parts, choice.get("text")) if isinstance(part, str)]
    return is_hollow(fields) and is_hollow(bare)


def is_hollow(value: Json) -> bool:
    """Tell whether *value* is empty at every depth, except types and indexes of calls."""
    if isinstance(value, dict):
        rest = (each for key, each in value.items() if key not in ("index", "type"))
        return all(not each or is_hollow(each) for each in rest)
    if isinstance(value, list):
        return all(map(is_hollow, value))
    return value in (None, "")


def repeats(old: Json, new: Json) -> bool:
    """Tell whether *new* has all the content of *old*, and possibly more; roles aside."""
    if old in (None, "", [], {}):
        return True
    if isinstance(old, str) and isinstance(new, str):
        return new.startswith(old)
    if isinstance(old, dict) and isinstance(new, dict):
        fields = [key for key, value in old.items() if value and key != "role"]
        return all(repeats(old[key], new.get(key)) for key in fields)
    if isinstance(old, list) and isinstance(new, list):
        return len(new) >= len(old) and all(map(repeats, old, new))
    return bool(old == new)


def news(old: Json, new: Json) -> Json:
    """The addition of *new* to *old*, which it repeats: the rest of a string, keys."""
    if isinstance(old, str) and isinstance(new, str) and new.startswith(old):
        return new[len(old) :]
    if isinstance(old, dict) and isinstance(new, dict):
        rest = {key: news(old.get(key), value) for key, value in new.items()}
        return {key: each for key, each in rest.items() if each or key not in old}
    if isinstance(old, list) and isinstance(new, list):
        parts = [
            {"index": place, **part} if isinstance(part, dict) and part else part
            for place, part in enumerate(map(news, old, new))
        ]
        return [part for part in parts if part] + new[len(old) :]
    return None if old == new else new


_CHOICE_FRAME = frozenset(("index", "delta", "finish_reason", "logprobs"))


def is_empty_chunk(chunk: Chunk) -> bool:
    """Tell whether *chunk* has choices, and nothing in them or beside them.

    Unknown fields count as content.
    """
    if not choices(chunk) or _has_other_fields(chunk, CHUNK_FRAME):
        return False
    return not any(
        choice.get("delta")
        or choice.get("finish_reason")
        or choice.get("logprobs")
        or _has_other_fields(choice, _CHOICE_FRAME)
        for choice in choices(chunk)
    )


def _has_other_fields(part: Chunk, frame: frozenset[str]) -> bool:
    return any(value is not None and key not in frame for key, value in part.items())
