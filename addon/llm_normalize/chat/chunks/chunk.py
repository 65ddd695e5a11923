"""Chunks and bodies as plain JSON values: where things are in them, whatever they are."""

from collections.abc import Callable, Iterable
from typing import Any

from ...wire.json_text import Json

type Chunk = dict[str, Any]

_END = frozenset(("finish_reason",))
FLAT = frozenset(("response", "tool_calls")) | _END
"""Keys under which an answer stands at the top."""

_AROUND = ("data", "response", "result", "payload", "output")
"""Keys under which envelopes of a provider's own have a completion."""

_VERDICT = ("code", "Code", "status", "statusCode", "success")
_FINE = frozenset((
    "none", "0", "200", "", "true", "1", "ok", "success", "succeeded", "completed",
))  # fmt: skip
_PARTS = ("delta", "message", "text", "finish_reason")
_DEEP = 3  # envelopes around each other

REASONING = ("reasoning_content", "reasoning")
"""The keys of a delta or message under which clients find reasoning."""
EVERY_REASONING = (*REASONING, "reasoning_text")
"""All under which providers send it as a text."""

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
"""The counts that usage has in OpenAI's form."""
_COUNTS = frozenset(COUNTS)
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
        found = value["finish_reason"] and value.keys() <= _END | {"usage", "p"}
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


def has_figures(usage: Json) -> bool:
    """Tell whether *usage* has OpenAI's three counts, and nothing but whole numbers.

    They may be in objects, one level deep.
    """
    if not isinstance(usage, dict) or not usage.keys() >= _COUNTS:
        return False
    for key, each in usage.items():
        if type(each) is int:
            continue
        if key in _COUNTS or not isinstance(each, dict):
            return False
        if set(map(type, each.values())) - {int}:
            return False
    return True


def has_counted(chunk: Chunk) -> bool:
    """Tell whether *chunk* has usage that has counted anything."""
    usage = chunk.get("usage")
    if isinstance(usage, dict):
        for each in usage.values():
            if isinstance(each, int | float) and each > 0:
                return True
    return False


def choices(chunk: Chunk) -> list[Chunk]:
    """Return the choices of *chunk*, the list itself if none of them is null.

    All are objects in what `is_chunk` lets through. There are none where it has no list.
    """
    found = chunk.get("choices")
    if not isinstance(found, list):
        return []
    return found if None not in found else [each for each in found if each is not None]


def deltas(chunk: Chunk) -> list[tuple[int, Chunk, Chunk]]:
    """Return (index, choice, delta) for each choice of *chunk* that has a delta."""
    # A list, and no generator nor a call inside: most fixes ask for it, for every event.
    return [
        (at if isinstance(at := choice.get("index"), int) else 0, choice, delta)
        for choice in chunk.get("choices") or ()
        if choice and isinstance(delta := choice.get("delta"), dict)
    ]


def messages(body: Chunk) -> list[tuple[Chunk, Chunk]]:
    """Return (choice, message) for each choice of *body* that has a message."""
    return [
        (choice, message)
        for choice in choices(body)
        if isinstance(message := choice.get("message"), dict)
    ]


def change_all(repair: Callable[[Chunk], bool], found: Iterable[Chunk]) -> bool:
    """Apply *repair* to each of *found*; tell whether it changed any."""
    return sum(map(repair, found)) > 0


def in_deltas(chunk: Chunk, repair: Callable[[Chunk], bool]) -> bool:
    """Apply *repair* to each delta of *chunk*; tell whether it changed any."""
    return change_all(repair, [delta for _, _, delta in deltas(chunk)])


def in_messages(body: Chunk, repair: Callable[[Chunk], bool]) -> bool:
    """Apply *repair* to each message of *body*; tell whether it changed any."""
    return change_all(repair, [message for _, message in messages(body)])


def index_of(part: Chunk) -> int:
    """Return the index of a choice or of a tool call fragment; 0 where it has none."""
    index = part.get("index")
    return index if isinstance(index, int) else 0


def given_index(part: Chunk) -> int | None:
    """Return the index of a choice or of a fragment, maybe from text; None without."""
    index = part.get("index")
    if isinstance(index, str) and index.isascii() and index.isdigit():
        return int(index[:9])
    return index if type(index) is int else None


def calls(delta: Chunk) -> list[Chunk]:
    """Return the tool call fragments of *delta* (or the calls of a message).

    One that stands there without a list is one, too.
    """
    found = delta.get("tool_calls")
    if not isinstance(found, list):
        return [found] if found and isinstance(found, dict) else []
    return [call for call in found if isinstance(call, dict)]


def put_calls(delta: Chunk, found: list[Chunk]) -> None:
    """Let *found* be the tool calls of *delta*, in place; without any no key stays."""
    delta["tool_calls"] = found
    if not found:
        del delta["tool_calls"]


def function(call: Chunk) -> Chunk:
    """Return the function of *call*, an empty object where it has none."""
    found = call.get("function")
    return found if isinstance(found, dict) else {}


def name_of(call: Chunk) -> Json:
    """Return the name of a tool call or of a fragment, None where it has none."""
    custom = call.get("custom")
    named = custom.get("name") if isinstance(custom, dict) else None
    # What is no text is not a name: the function's counts.
    return (isinstance(named, str) and named) or function(call).get("name") or None


def functions(part: Chunk) -> list[Chunk]:
    """Return the function of each call of a delta or message, the legacy one last."""
    legacy = part.get("function_call")
    found = [function(call) for call in calls(part)]
    return [*found, legacy] if isinstance(legacy, dict) else found


type Tokens = tuple[int | None, int | None]
"""Tokens of a prompt and of a completion, as far as a provider counts them."""


def tokens_of(usage: Json) -> Tokens:
    """Return the figures that *usage* has."""
    found = usage if isinstance(usage, dict) else {}
    return _figure(found.get("prompt_tokens")), _figure(found.get("completion_tokens"))


def _figure(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def usage_of(chunk: Chunk) -> Json:
    """Return the usage that *chunk* carries, None where it says nothing."""
    return chunk.get("usage") or None


OTHER_USAGE = "x_groq"
"""The key of an object in which some providers repeat `usage`."""


def drop_other_usage(chunk: Chunk, taken: Json = None) -> None:
    """Take the usage under `OTHER_USAGE` off *chunk*, unless it is what was *taken* off it.

    The client gets that elsewhere, and must not find other figures here.
    """
    other = chunk.get(OTHER_USAGE)
    if isinstance(other, dict) and "usage" in other:
        given = other["usage"]
        known = taken if isinstance(taken, dict) else {}
        same = isinstance(given, dict) and all(known.get(k) == given[k] for k in given)
        if same and any(given.values()):
            return
        chunk[OTHER_USAGE] = {
            key: each for key, each in other.items() if key != "usage"
        }
        if not chunk[OTHER_USAGE]:
            del chunk[OTHER_USAGE]


def reporting_parts(chunk: Chunk) -> list[Chunk]:
    """Return the parts of *chunk* that may report an `error`, or figures of their own."""
    own = [each for key, each in chunk.items() if key.startswith("x_")]
    return [chunk, *choices(chunk), *(each for each in own if isinstance(each, dict))]


ENVELOPE = frozenset(
    ("id", "object", "created", "model", "service_tier", "system_fingerprint")
)
"""Keys that all chunks of a stream share."""

LONG = 256
"""Characters: no provider's ids and names are longer."""


def envelope_of(chunk: Chunk) -> Chunk:
    """The fields that all chunks of the stream share, for a chunk that is split off.

    `choices` keep their place in it, to be set anew. Of a long text there is the begin
    alone: there may be thousands of chunks that are split off.
    """
    return {
        key: value[:LONG] if isinstance(value, str) else value
        for key, value in chunk.items()
        if key in _SPLIT_FRAME
    }


def chunk_of(frame: Chunk, index: int, delta: Chunk) -> Chunk:
    """Return a chunk with the envelope *frame*, and one choice, which goes on."""
    choice = {"index": index, "delta": delta, "finish_reason": None}
    return {**frame, "choices": [choice]}


_SPLIT_FRAME = ENVELOPE | {"choices"}
CHUNK_FRAME = ENVELOPE | {"choices", "obfuscation"}


def drop_keys(part: Chunk, keys: Iterable[str]) -> bool:
    """Drop *keys* of *part*, which it has; tell whether there were any."""
    dropped = [part.pop(key) for key in [*keys]]
    return bool(dropped)


def put_first(target: Chunk, key: str, value: Json) -> None:
    """Set *key* of *target*, in place; a new one becomes the first."""
    if key in target:
        target[key] = value
        return
    rest = dict(target)
    target.clear()
    target[key] = value
    target.update(rest)
