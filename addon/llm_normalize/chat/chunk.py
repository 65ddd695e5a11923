"""Chunks and bodies as plain JSON values: where things are in them, whatever they are."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from ..wire.json_text import Json

type Chunk = dict[str, Any]

_WORDS = frozenset(("errors", "message", "msg", "detail", "title", "error_msg"))
"""Keys under which an error that is not wrapped has its words."""

_FINE = frozenset((
    "ok", "success", "succeeded", "completed", "done", "accepted", "queued", "pending",
    "processing", "running", "in_progress", "healthy", "200",
))  # fmt: skip
"""What a provider says of itself where nothing went wrong, or not yet."""

_TELLING = _WORDS | {"error", "base_resp"}
"""Keys of a chunk that may tell of an error; those that begin with `x_` may, too."""

FLAT = frozenset(("response", "tool_calls"))
"""Keys under which an answer stands at the top."""

_COUNTED = "prompt_tokens"
"""A key of usage in OpenAI's form, which no other protocol has."""

FAILURE = re.compile("[45][0-9][0-9]")
"""An HTTP status that tells of a failure."""


def is_chunk(value: Json) -> bool:
    """Tell whether *value* is a chunk (or a body), maybe one that lacks its choices."""
    if not isinstance(value, dict):
        return False
    found = value.get("choices")
    if found is not None:
        return isinstance(found, list) and all(isinstance(x, dict) for x in found)
    if str(value.get("object")).startswith("chat.completion") or is_flat(value):
        return True
    usage = value.get("usage")
    return isinstance(usage, dict) and ("type" not in value or _COUNTED in usage)


def is_readable(chunk: Chunk) -> bool:
    """Tell whether what *chunk*, see `is_chunk`, says has types that a client can read.

    That is, the types that some provider sends, however wrong. Of a chunk with an object
    for a name, say, or a number for its calls, nobody can tell what it means.
    """
    found = chunk.get("choices")
    if not found:
        result = chunk.get("result")
        is_envelope = isinstance(result, dict) and chunk.get("success") is True
        inner = result if is_envelope and is_flat(chunk) else None
        return _reads_calls(chunk) and (inner is None or is_readable(inner))
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
    inner = (value, value.get("function"), value.get("custom"))
    return all(not each or _reads_name(each) for each in inner)


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
        found = result.get("choices")
        has_choices = isinstance(found, list) and all(
            isinstance(each, dict) for each in found
        )
        return has_choices or is_flat(result)
    is_wrapped = isinstance(result, str) and str(value.get("object")).startswith(
        "chat."
    )
    return is_wrapped or not FLAT.isdisjoint(value)


def is_error(value: Json) -> bool:
    """Tell whether *value* is an object that reports an error."""
    if isinstance(value, list) and len(value) == 1:  # Google's form
        value = value[0]
    if not isinstance(value, dict):
        return False
    if value.get("error"):
        return True
    base = value.get("base_resp")
    if isinstance(base, dict) and base.get("status_code") and not choices(value):
        return True
    if value.get("choices") or not any(_says(value.get(key)) for key in _WORDS):
        return False
    if "choices" in value and (is_fine(value) or has_counted(value)):
        return _says(value.get("errors"))
    # Words alone may be a notice; an error has a code, a status, or says so.
    status = value.get("status", value.get("statusCode"))
    kind = f"{value.get('type')} {value.get('object')} {status}".lower()
    return (
        value.get("code") not in (None, 0, 200, "", "0", "200")
        or any(_says(value.get(key)) for key in ("errors", "detail", "error_code"))
        or value.get("success") is False
        or bool(FAILURE.fullmatch(str(status)))
        or "error" in kind
    )


def is_fine(value: Chunk) -> bool:
    """Tell whether *value* says that nothing went wrong, or not yet."""
    if any(
        value.get(key) not in (None, False, 0, "", "false") for key in ("ok", "success")
    ):
        return True
    found = [value.get(key) for key in ("status", "state", "message", "msg")]
    words = (each for each in found if isinstance(each, str | int))
    return any(str(each).strip().lower() in _FINE for each in words)


def has_counted(chunk: Chunk) -> bool:
    """Tell whether *chunk* has usage that has counted anything."""
    usage = chunk.get("usage")
    return isinstance(usage, dict) and any(
        isinstance(each, int | float) and each > 0 for each in usage.values()
    )


def _says(value: Json) -> bool:
    return any(value) if isinstance(value, list) else bool(value)


def choices(chunk: Chunk) -> list[Chunk]:
    """Return the choices of *chunk*, itself no copy; none where they are no list.

    All are objects in what `is_chunk` lets through.
    """
    found = chunk.get("choices")
    return found if isinstance(found, list) else []


def deltas(chunk: Chunk) -> list[tuple[int, Chunk, Chunk]]:
    """Return (index, choice, delta) for each choice of *chunk* that has a delta."""
    # A list, and no generator nor a call inside: most fixes ask for it, for every event.
    return [
        (at if isinstance(at := choice.get("index"), int) else 0, choice, delta)
        for choice in chunk.get("choices") or ()
        if isinstance(delta := choice.get("delta"), dict)
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
    named = isinstance(custom, dict) and custom.get("name")
    return named or function(call).get("name") or None


type Tokens = tuple[int | None, int | None]
"""Tokens of a prompt and of a completion, as far as a provider counts them."""


def tokens_of(usage: Json) -> Tokens:
    """Return the figures that *usage* has."""
    found = usage if isinstance(usage, dict) else {}
    prompt, completion = (
        value if isinstance(value, int) and not isinstance(value, bool) else None
        for value in (found.get("prompt_tokens"), found.get("completion_tokens"))
    )
    return prompt, completion


def usage_of(chunk: Chunk) -> Json:
    """Return the usage that *chunk* carries, None where it says nothing."""
    return chunk.get("usage") or None


def drop_other_usage(chunk: Chunk, taken: Json = None) -> None:
    """Take the usage under `x_groq` off *chunk*, unless it is what was *taken* off it.

    The client gets that elsewhere, and must not find other figures here.
    """
    other = chunk.get("x_groq")
    if isinstance(other, dict) and "usage" in other:
        given = other["usage"]
        known = taken if isinstance(taken, dict) else {}
        same = isinstance(given, dict) and all(known.get(k) == given[k] for k in given)
        if same and any(given.values()):
            return
        chunk["x_groq"] = {key: each for key, each in other.items() if key != "usage"}
        if not chunk["x_groq"]:
            del chunk["x_groq"]


def stands_for_text(part: Chunk) -> bool:
    """Tell whether a delta or message brings what OpenAI sends with `content: null`."""
    return any(
        part.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")
    )


def says(part: Chunk) -> bool:
    """Tell whether a delta or message says anything beyond its role."""
    return any(
        value not in (None, "", [], {}) for key, value in part.items() if key != "role"
    )


def says_words(part: Chunk) -> bool:
    """Tell whether a delta or message says anything beside calls, which no text repeats."""
    calls = ("tool_calls", "function_call")
    return says({key: value for key, value in part.items() if key not in calls})


def speaks(chunk: Chunk) -> bool:
    """Tell whether *chunk* says anything beyond roles and its envelope."""
    usage = [
        each for part in _tellers(chunk) if isinstance(each := usage_of(part), dict)
    ]
    counted = any(any(each.values()) for each in usage)
    return counted or any(map(speaks_in, choices(chunk)))


def speaks_in(choice: Chunk) -> bool:
    """Tell whether a choice says anything beyond its role, or how it ended."""
    ended = choice.get("finish_reason") or choice.get("logprobs")
    return bool(ended) or has_answer(choice)


def has_answer(choice: Chunk) -> bool:
    """Tell whether a choice says anything beyond its role, under any of the keys for it."""
    parts = [choice.get(key) for key in ("delta", "message", "text")]
    return any(isinstance(part, str) and part for part in parts) or any(
        says(
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
    """Tell whether the delta, message and text of *choice* hold nothing, however deep."""
    parts = [choice.get(key) for key in ("delta", "message")]
    fields = [
        {key: each for key, each in part.items() if key != "role"}
        for part in parts
        if isinstance(part, dict)
    ]
    bare = [part for part in (*parts, choice.get("text")) if isinstance(part, str)]
    return is_hollow(fields) and is_hollow(bare)


def is_hollow(value: Json) -> bool:
    """Tell whether *value* says nothing, however deep: kinds and places of calls aside."""
    if isinstance(value, dict):
        rest = (each for key, each in value.items() if key not in ("index", "type"))
        return all(not each or is_hollow(each) for each in rest)
    if isinstance(value, list):
        return all(map(is_hollow, value))
    return value in (None, "")


def repeats(old: Json, new: Json) -> bool:
    """Tell whether *new* says all that *old* says, and maybe more; roles aside."""
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


def errors_in(chunk: Chunk) -> list[Json]:
    """Return the errors that *chunk* brings beside its choices or in them, each once."""
    if not _may_fail(chunk) or not is_chunk(chunk):
        return []
    found = [each["error"] for each in _tellers(chunk) if each.get("error")]
    several = chunk.get("errors")
    found += [several] if isinstance(several, list) and any(several) else []
    base = chunk.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        fields = {"message": base.get("status_msg") or "", "type": "server_error"}
        found.append({**fields, "param": None, "code": str(base["status_code"])})
    if not found and not _WORDS.isdisjoint(chunk) and not speaks(chunk):
        rest = {key: chunk[key] for key in chunk if key not in _CHUNK_FRAME}
        is_notice = is_fine(rest) or has_counted(chunk)
        found += [rest] if is_error(rest) and not is_notice else []
    return [each for at, each in enumerate(found) if each and each not in found[:at]]


def _may_fail(chunk: Chunk) -> bool:
    """Tell whether any key of *chunk* may hold an error: nearly never."""
    if not _TELLING.isdisjoint(chunk) or "x_" in " ".join(chunk):
        return True
    found: list[Json] = choices(chunk)
    for choice in found:  # noqa: SIM110 - asked of every event, where a generator costs
        if not isinstance(choice, dict) or "error" in choice:
            return True
    return False


def take_errors(chunk: Chunk) -> list[Json]:
    """Return the errors that *chunk* brings, and take them out of it."""
    found = errors_in(chunk)
    if not found:
        return found
    taken = [part.pop("error", None) for part in _tellers(chunk)]
    taken += [chunk.pop(key, None) for key in ("errors", "base_resp")]
    bare = [
        each for each in found if isinstance(each, dict) and not each.get("message")
    ]
    if bare or not any(taken):  # its words stand beside it, or it is nothing but words
        words = {key: chunk.pop(key) for key in _WORDS & chunk.keys()}
        for each in bare if any(taken) else ():
            each |= {**words, **each}
    return found


def _tellers(chunk: Chunk) -> list[Chunk]:
    """Return the parts of *chunk* that may have an `error`."""
    own = [each for key, each in chunk.items() if key.startswith("x_")]
    return [chunk, *choices(chunk), *(each for each in own if isinstance(each, dict))]


def news(old: Json, new: Json) -> Json:
    """Return what *new* adds to *old*, which it repeats: the rest of a string, keys."""
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


ENVELOPE = frozenset(
    ("id", "object", "created", "model", "service_tier", "system_fingerprint")
)
"""Keys that all chunks of a stream share."""

LONG = 256
"""Characters: no provider's ids and names are longer."""


def envelope_of(chunk: Chunk) -> Chunk:
    """Return what all chunks of the stream share, for one that is split off.

    `choices` keep their place in it, to be set anew. Of a long text there is the begin
    alone: there may be thousands of chunks that are split off.
    """
    return {
        key: value[:LONG] if isinstance(value, str) else value
        for key, value in chunk.items()
        if key in _SPLIT_FRAME
    }


_SPLIT_FRAME = ENVELOPE | {"choices"}
_CHUNK_FRAME = ENVELOPE | {"choices", "obfuscation"}
_CHOICE_FRAME = frozenset(("index", "delta", "finish_reason", "logprobs"))


def says_nothing(chunk: Chunk) -> bool:
    """Tell whether *chunk* has choices, and nothing in them or beside them.

    Whatever is not known to be mere frame counts as something.
    """
    if not chunk.get("choices") or _says_more(chunk, _CHUNK_FRAME):
        return False
    return not any(
        choice.get("delta")
        or choice.get("finish_reason")
        or choice.get("logprobs")
        or _says_more(choice, _CHOICE_FRAME)
        for choice in choices(chunk)
    )


def _says_more(part: Chunk, frame: frozenset[str]) -> bool:
    return any(value is not None and key not in frame for key, value in part.items())


def put_first(target: Chunk, key: str, value: Json) -> None:
    """Set *key* of *target*, in place; a new one becomes the first."""
    if key in target:
        target[key] = value
        return
    rest = dict(target)
    target.clear()
    target[key] = value
    target.update(rest)
