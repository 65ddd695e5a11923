"""Whether a JSON value is a chunk or a body, and in which of the forms that occur."""

from ...wire.json_text import Json, as_string
from .chunk import Chunk, choices, has_figures

_END = frozenset(("finish_reason",))
FLAT = frozenset(("response", "tool_calls")) | _END
"""Keys under which an answer stands at the top."""

_AROUND = ("data", "response", "result", "payload", "output", "provider")
"""Keys under which envelopes of a provider's own have a completion."""

_VERDICT = ("code", "Code", "status", "statusCode", "success")
_FINE = frozenset((
    "none", "0", "200", "", "true", "1", "ok", "success", "succeeded", "completed",
))  # fmt: skip
_PARTS = ("delta", "message", "text", "finish_reason")
_DEEP = 3  # envelopes around each other
_COUNTED = "prompt_tokens"
"""A key of usage in OpenAI's form, which no other protocol has."""


def is_chunk(value: Json) -> bool:
    """Tell whether *value* is a chunk (or a body), maybe one that lacks its choices."""
    if not isinstance(value, dict):
        return False
    found = value.get("choices")
    if found is not None:
        return _are_choices(found)
    if str(value.get("object")).startswith("chat.completion") or is_flat(value):
        return True
    if enveloped_in(value) is not None:
        return True
    usage = value.get("usage")
    return isinstance(usage, dict) and ("type" not in value or _COUNTED in usage)


def _are_choices(value: Json) -> bool:
    """Tell whether *value* is a list of choices; null in it is none."""
    return isinstance(value, list) and all(isinstance(x, dict | None) for x in value)


def is_readable(chunk: Chunk) -> bool:
    """Tell whether what *chunk*, see `is_chunk`, says has types that a client can read.

    That is, the types that some provider sends, however wrong. Of a chunk with an object
    for a name, say, or a number for its calls, nobody can tell what it means.
    """
    found = choices(chunk)
    enveloped = enveloped_in(chunk)
    if enveloped is not None:
        return is_readable(chunk[enveloped])
    if not found:
        result = chunk.get("result")
        is_envelope = isinstance(result, dict) and chunk.get("success") is True
        inner = result if is_envelope and is_flat(chunk) else None
        # Beside choices nobody reads calls at the top.
        reads_own = chunk.get("choices") is not None or _reads_calls(chunk)
        return reads_own and (inner is None or is_readable(inner))
    for choice in found:
        for part in (choice.get("delta"), choice.get("message")):
            parts = part if isinstance(part, list) else [part]
            if not all(map(_reads_part, parts)):
                return False
    return True


def _reads_part(part: Json) -> bool:
    if isinstance(part, dict):
        return _reads_calls(part)
    return not part or isinstance(part, str)


def _reads_calls(part: Chunk) -> bool:
    """Tell whether all calls in *part* are of such types."""
    found, legacy = part.get("tool_calls"), part.get("function_call")
    if legacy and not _reads_name(legacy):
        return False
    if not found:
        return True
    if not isinstance(found, list):
        found = [found]
    return all(not each or _reads_call(each) for each in found)


def _reads_call(value: Json) -> bool:
    """Tell whether *value* is a tool call, or a fragment of one, of such types."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("id"), dict | list | bool):
        return False
    inner = [value[key] for key in ("function", "custom") if value.get(key)]
    return all(map(_reads_name, inner or [value]))


def _reads_name(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str | None)


def is_flat(value: Chunk) -> bool:
    """Tell whether *value* has its answer at the top, and no choices.

    Workers AI's own form: `response` and `tool_calls` in an event, both in the
    `result` of a body. What has a `type` is an event of another protocol.
    """
    if value.get("choices") is not None or "type" in value:
        return False
    result = value.get("result")
    if isinstance(result, dict) and value.get("success") is True:
        return _are_choices(result.get("choices")) or is_flat(result)
    kind = str(value.get("object"))
    is_wrapped = isinstance(result, str) and kind.startswith("chat.")
    found: object = FLAT & value.keys()
    if found == _END:  # nothing but the end of an answer
        is_alone = value.keys() <= _END | {"usage", "p"}
        found = is_alone and as_string(value["finish_reason"])
    return is_wrapped or bool(found and enveloped_in(value) is None)


def enveloped_in(value: Chunk, deep: int = _DEEP) -> str | None:
    """Return the key under which *value*, an envelope, has a chunk or a body, if any.

    None, too, where it says that something failed, and of Workers AI's own form, in which
    other parts of the answer may stand beside the result: see `is_flat`.
    """
    if not deep or value.get("choices") is not None or "type" in value:
        return None
    if value.get("error") or value.get("errors"):
        return None
    if any(str(value.get(key)).strip().lower() not in _FINE for key in _VERDICT):
        return None
    for key in _AROUND:
        inner = value.get(key)
        if not isinstance(inner, dict) or (key == "result" and value.get("success")):
            continue
        if _is_whole(inner) or enveloped_in(inner, deep - 1) is not None:
            return key
    return None


def _is_whole(value: Chunk) -> bool:
    """Tell whether *value* is a chunk or a body: by its choices, or its usage alone."""
    if not _are_choices(value.get("choices")):
        return False
    if str(value.get("object")).startswith("chat.completion"):
        return True
    if not value["choices"]:
        return has_figures(value.get("usage"))
    return any(key in each for each in choices(value) for key in _PARTS)
