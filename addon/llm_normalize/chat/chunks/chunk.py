"""Chunks and bodies as plain JSON values: where things are in them, whatever they are."""

from collections.abc import Callable, Iterable
from typing import Any

from ...wire.json_text import Json

type Chunk = dict[str, Any]

REASONING = ("reasoning_content", "reasoning")
"""The keys of a delta or message under which clients find reasoning."""
EVERY_REASONING = (*REASONING, "reasoning_text")
"""All under which providers send it as a text."""

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
"""The counts that usage has in OpenAI's form."""
_COUNTS = frozenset(COUNTS)
CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens")
"""What Kimi, DeepSeek and Mistral call, at the top of usage, what a cache held."""


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
