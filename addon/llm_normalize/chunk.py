"""Chunks as plain JSON values, read and written without losing what they say.

`json` alone gives back other bytes than it read: `1.10` and `1e400` change, `-0` turns
into `0`, a lone surrogate cannot be encoded, a repeated key vanishes. A repaired event
must keep all it keeps, so numbers that Python would respell stay as `Number`.
"""

import json
import re
from typing import Any

type Json = Any
type Chunk = dict[str, Any]


_DEEP = 200  # levels of nesting
# A string that is cut off reaches to the end: tried anew at each quote, it is quadratic.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|([\[\]{}])', re.DOTALL)
_LONG = 1000  # digits; `int` refuses a few thousand


class Number:
    """A JSON number that keeps its spelling."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Number({self.text!r})"


class RepeatedKeyError(ValueError):
    """An object names a key twice: no Python value can say what it said."""


class _SpelledNumberError(TypeError):
    """A `Number` met the fast encoder."""


def _unique(pairs: list[tuple[str, Json]]) -> Chunk:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise RepeatedKeyError
    return value


def _no_constant(text: str) -> Json:
    raise ValueError(text)


def _spelled(_: object) -> Json:
    raise _SpelledNumberError


_decode = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=Number, parse_constant=_no_constant
).decode
_decode_spelled = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=Number,
    parse_int=Number,
    parse_constant=_no_constant,
).decode
_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_spelled
).encode


def loads(data: bytes) -> Json:
    """Return the JSON value in *data* (UTF-8).

    Raises:
        ValueError: *data* is no JSON (`NaN` and `Infinity` are none) or no UTF-8.
        RepeatedKeyError: It repeats a key.
        RecursionError: It is nested too deeply for Python.
    """
    text = data.decode()
    if text.count("{") + text.count("[") > _DEEP:
        _refuse_deep(text)
    if "-0" in text:
        return _plain(_decode_spelled(text))
    try:
        return _decode(text)
    except (json.JSONDecodeError, RepeatedKeyError):
        raise
    except ValueError:  # an integer longer than sys.get_int_max_str_digits()
        return _plain(_decode_spelled(text))


def _refuse_deep(text: str) -> None:
    """Refuse what could be read, but not be written: the encoder gives up sooner."""
    depth = 0
    for match in _BRACKET.finditer(text):
        if match[1]:
            depth += 1 if match[1] in "[{" else -1
            if depth > _DEEP:
                raise RecursionError


def _plain(value: Json) -> Json:
    """Turn the spelled integers of *value* that `int` respells alike into `int`s."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Number) and len(value.text) < _LONG:
        try:
            number = int(value.text)
        except ValueError:
            return value
        return number if str(number) == value.text else value
    return value


def dumps(value: Json) -> bytes:
    """Return *value* in OpenAI's spelling: compact, UTF-8 unescaped, key order kept.

    A lone surrogate, which UTF-8 has no bytes for, is written as its ASCII escape.
    """
    try:
        text = _encode(value)
    except _SpelledNumberError:
        text = _write(value)
    return text.encode(errors="backslashreplace")


def _write(value: Json) -> str:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        items = (f"{_encode(key)}:{_write(each)}" for key, each in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    return _encode(value)


def is_chunk(value: Json) -> bool:
    """Tell whether *value* is a chunk (or a body) with choices, and no error."""
    return isinstance(value, dict) and isinstance(value.get("choices"), list)


def is_error(value: Json) -> bool:
    """Tell whether *value* is an object that reports an error."""
    if not isinstance(value, dict):
        return False
    if value.get("error"):
        return True
    words = ("errors", "message", "msg", "detail", "title")
    if "choices" in value or not any(value.get(key) for key in words):
        return False
    # Words alone may be a notice; an error has a code, a status, or says so.
    status = value.get("status")
    kind = f"{value.get('type')} {value.get('object')}".lower()
    return (
        any(value.get(key) for key in ("code", "errors", "detail"))
        or (isinstance(status, int) and status >= 400)  # noqa: PLR2004
        or "error" in kind
    )


def choices(chunk: Chunk) -> list[Chunk]:
    """Return the choices of *chunk* that are objects."""
    return [choice for choice in chunk["choices"] if isinstance(choice, dict)]


def deltas(chunk: Chunk) -> list[tuple[int, Chunk, Chunk]]:
    """Return (index, choice, delta) for each choice of *chunk* that has a delta."""
    # A list and no generator: every fix asks for it, for every event.
    return [
        (index_of(choice), choice, delta)
        for choice in chunk["choices"]
        if isinstance(choice, dict) and isinstance(delta := choice.get("delta"), dict)
    ]


def messages(body: Chunk) -> list[tuple[Chunk, Chunk]]:
    """Return (choice, message) for each choice of *body* that has a message."""
    return [
        (choice, message)
        for choice in choices(body)
        if isinstance(message := choice.get("message"), dict)
    ]


def index_of(part: Chunk) -> int:
    """Return the index of a choice or of a tool call fragment; 0 where it has none."""
    index = part.get("index")
    return index if isinstance(index, int) else 0


def calls(delta: Chunk) -> list[Chunk]:
    """Return the tool call fragments of *delta* (or the calls of a message)."""
    found = delta.get("tool_calls")
    if not isinstance(found, list):
        return []
    return [call for call in found if isinstance(call, dict)]


def function(call: Chunk) -> Chunk:
    """Return the function of *call*, an empty object where it has none."""
    found = call.get("function")
    return found if isinstance(found, dict) else {}


def stands_for_text(part: Chunk) -> bool:
    """Tell whether a delta or message brings what OpenAI sends with `content: null`."""
    return any(
        part.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")
    )


ENVELOPE = frozenset(
    ("id", "object", "created", "model", "service_tier", "system_fingerprint")
)
"""Keys that all chunks of a stream share."""

_CHUNK_FRAME = ENVELOPE | {"choices", "obfuscation"}
_CHOICE_FRAME = frozenset(("index", "delta", "finish_reason", "logprobs"))


def says_nothing(chunk: Chunk) -> bool:
    """Tell whether *chunk* has choices, and nothing in them or beside them.

    Whatever is not known to be mere frame counts as something.
    """
    if not chunk["choices"] or _says_more(chunk, _CHUNK_FRAME):
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
    """Set *key* as the first one of *target*, in place."""
    rest = {name: each for name, each in target.items() if name != key}
    target.clear()
    target[key] = value
    target.update(rest)
