"""Errors that chunks and bodies bring, in the form of any provider."""

import re

from ...wire.json_text import Json
from ..chunks.chunk import CHUNK_FRAME, Chunk, choices, has_counted, reporting_parts
from ..chunks.chunk_content import chunk_has_content
from ..chunks.chunk_form import is_chunk

_WORDS = frozenset(("errors", "message", "msg", "detail", "title", "error_msg"))
"""Keys under which an error that is not wrapped has its words."""


_SAYS_SO = re.compile(
    r"error_?(?:code|message)|error(?:Code|Message)|ErrorMsg|copilot_errors"
    r"|exception|[a-z]\w*Exception"
).fullmatch
"""A key that only an error has."""


_FINE = frozenset((
    "ok", "success", "succeeded", "completed", "done", "accepted", "queued", "pending",
    "processing", "running", "in_progress", "healthy", "200",
))  # fmt: skip
"""What a provider says of itself where nothing went wrong, or not yet."""


_TELLING = _WORDS | {"error", "base_resp"}
"""Keys of a chunk that may tell of an error; those that begin with `x_` may, too."""


FAILURE = re.compile("[45][0-9][0-9]")
"""An HTTP status that tells of a failure."""


def is_error(value: Json) -> bool:
    """Tell whether *value* is an object that reports an error."""
    if isinstance(value, list) and len(value) == 1:  # Google's form
        value = value[0]
    if not isinstance(value, dict):
        return False
    if value.get("error"):
        return True
    base = value.get("base_resp")
    failed = isinstance(base, dict) and base.get("status_code")
    says_so = failed or _is_capitalized_error(value) or _is_named_error(value)
    if says_so and not choices(value):
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


def _is_capitalized_error(value: Chunk) -> bool:
    """Tell whether *value* is an error as AWS, Tencent and Volcengine send it.

    That is `{"Code", "Message"}`, or the like in an `Error`, maybe in a `Response`.
    """
    around = (value, value.get("Response"), value.get("ResponseMetadata"))
    if any(isinstance(each, dict) and each.get("Error") for each in around):
        return True
    words = value.get("Message")
    said = {"ok": value.get("Success"), "status": value.get("Code"), "msg": words}
    return isinstance(words, str) and bool(words) and not is_fine(said)


def _is_named_error(value: Chunk) -> bool:
    """Tell whether a key of *value* names an error, or its type does, whatever its words.

    What has another type is about a tool, or a step of the answer.
    """
    kind = value.get("type") or value.get("event")
    if kind:
        return kind == "error" and len(value) > 1
    return not all(_is_void(each) for key, each in value.items() if _SAYS_SO(key))


def _is_void(value: Json) -> bool:
    """Tell whether *value*, under the key of an error, says that there is none."""
    if isinstance(value, dict):
        return all(map(_is_void, value.values()))
    text = str(value or "").strip().lower()
    return not text.strip("0.-") or text in _FINE | {"none", "null", "no error"}


def is_fine(value: Chunk) -> bool:
    """Tell whether *value* says that nothing went wrong, or not yet."""
    if any(
        value.get(key) not in (None, False, 0, "", "false") for key in ("ok", "success")
    ):
        return True
    found = [value.get(key) for key in ("status", "state", "message", "msg")]
    words = (each for each in found if isinstance(each, str | int))
    return any(str(each).strip().lower() in _FINE for each in words)


def _says(value: Json) -> bool:
    return any(value) if isinstance(value, list) else bool(value)


def errors_in(chunk: Chunk) -> list[Json]:
    """Return the errors that *chunk* brings beside its choices or in them, each once."""
    if not may_fail(chunk) or not is_chunk(chunk):
        return []
    found = [each["error"] for each in reporting_parts(chunk) if each.get("error")]
    several = chunk.get("errors")
    found += [several] if isinstance(several, list) and any(several) else []
    base = chunk.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        fields = {"message": base.get("status_msg") or "", "type": "server_error"}
        found.append({**fields, "param": None, "code": str(base["status_code"])})
    if not found and not _WORDS.isdisjoint(chunk) and not chunk_has_content(chunk):
        rest = {key: chunk[key] for key in chunk if key not in CHUNK_FRAME}
        is_notice = is_fine(rest) or has_counted(chunk)
        found += [rest] if is_error(rest) and not is_notice else []
    return [each for at, each in enumerate(found) if each and each not in found[:at]]


def may_fail(chunk: Chunk) -> bool:
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
    taken = [part.pop("error", None) for part in reporting_parts(chunk)]
    taken += [chunk.pop(key, None) for key in ("errors", "base_resp")]
    bare = [
        each for each in found if isinstance(each, dict) and not each.get("message")
    ]
    if bare or not any(taken):  # its words stand beside it, or it is nothing but words
        words = {key: chunk.pop(key) for key in _WORDS & chunk.keys()}
        for each in bare if any(taken) else ():
            each |= {**words, **each}
    return found
