"""Log probabilities, in OpenAI's form: `{"content": [{token, logprob, bytes, top_logprobs}]}`."""

import re
from base64 import b64decode

from ...wire.json_text import Json, Number
from .chunk import Chunk, change_all

UNLIKELY = -9999.0
"""What OpenAI sends for a token that is too unlikely to have a figure."""
_OLD = ("tokens", "token_logprobs", "top_logprobs")
"""The keys of the old completions API."""
_SPELLED = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)


def complete(choice: Chunk) -> bool:
    """Complete the log probabilities of *choice*; tell whether anything was missing."""
    given = choice.get("logprobs")
    if given is None:
        return False
    if not (isinstance(given, dict) and ("content" in given or any(given.values()))):
        choice["logprobs"] = given = _wrapped(given, choice)
        _complete_entries(given or {})
        return True
    if (old := _from_old(given)) is not None:
        given["content"] = old
        for key in _OLD:
            given.pop(key, None)
        return True
    return _complete_entries(given)


def _complete_entries(given: Chunk) -> bool:
    found = [given.get(key) for key in ("content", "refusal")]
    return change_all(_complete_entry, [x for each in found for x in _objects(each)])


def _objects(value: Json) -> list[Chunk]:
    return [x for x in value if isinstance(x, dict)] if isinstance(value, list) else []


def _wrapped(given: Json, choice: Chunk) -> Chunk | None:
    """Wrap log probabilities that are no object with any in one; None for none."""
    if _objects(given):
        return {"content": _objects(given)}
    delta = choice.get("delta")
    text = delta.get("content") if isinstance(delta, dict) else None
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(text, str) and text and _figure_of(given) != UNLIKELY:
        return {"content": [{**_entry(text, given), "top_logprobs": []}]}
    return None


def _complete_entry(entry: Chunk) -> bool:
    changed = _complete_alternative(entry)
    top = entry.get("top_logprobs")
    if isinstance(top, dict):
        entry["top_logprobs"] = [_entry(token, each) for token, each in top.items()]
    elif not isinstance(top, list):
        entry["top_logprobs"] = []
    else:
        return change_all(_complete_alternative, _objects(top)) or changed
    return True


def _complete_alternative(entry: Chunk) -> bool:
    """Complete a token's figure and bytes."""
    changed = False
    if isinstance(entry.get("token"), str) and not _is_figure(entry.get("logprob")):
        entry["logprob"] = _figure_of(entry.get("logprob"))
        changed = True
    if isinstance(entry.get("bytes"), str):
        entry["bytes"] = _decoded(entry["bytes"], entry.get("token"))
        changed = True
    return changed


def _is_figure(value: Json) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _figure_of(value: Json) -> Json:
    """Return the figure that *value* is or spells; what OpenAI sends for none."""
    if isinstance(value, str) and _SPELLED.fullmatch(value):
        return Number(value)
    return value if _is_figure(value) else UNLIKELY


def _decoded(text: str, token: Json) -> list[int] | None:
    if text == token:  # many a word would be base64, too
        return _bytes_of(text)
    try:
        return list(b64decode(text, validate=True))
    except ValueError:
        return None


def _bytes_of(token: str) -> list[int] | None:
    try:
        return list(token.encode())
    except UnicodeEncodeError:
        return None  # half of a character


def _entry(token: str, figure: Json) -> Chunk:
    return {"token": token, "logprob": _figure_of(figure), "bytes": _bytes_of(token)}


def _from_old(given: Chunk) -> list[Json] | None:
    tokens, values = given.get("tokens"), given.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        return None
    is_text = all(isinstance(token, str) for token in tokens)
    if given.get("content") or len(values) != len(tokens) or not is_text:
        return None
    top = given.get("top_logprobs")
    tops = top if isinstance(top, list) and len(top) == len(tokens) else [top]
    if len(tops) != len(tokens):
        tops = [None] * len(tokens)
    return [
        {**_entry(token, value), "top_logprobs": _alternatives(each)}
        for token, value, each in zip(tokens, values, tops, strict=True)
    ]


def _alternatives(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return [_entry(token, each) for token, each in value.items()]
    found = _objects(value)
    change_all(_complete_alternative, found)
    return found
