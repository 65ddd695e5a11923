"""Parse and write JSON values without losing anything.

`json` alone does not round-trip: `1.10` and `1e400` change, `-0` turns into `0`, a lone
surrogate cannot be encoded, a repeated key vanishes. A repaired event must preserve every
value that it does not repair, so numbers that Python would respell stay as `Number`.
"""

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

type Json = Any


PLAIN = bytes(
    dict.fromkeys(b" etaoinshrdlucmfwypvbgkjqxz" + bytes(range(0x20, 0x7F)))
).translate(None, b'"\\')
"""What most strings are made of, the most frequent first: JSON spells it as it is."""
_DEEP = 200  # levels of nesting
_STEPS = bytes.maketrans(b"[]{}", b"\x01\xff\x01\xff")
"""What a bracket does to the depth, as a signed byte."""
_NO_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
_LONG = 1000  # digits; `int` refuses a few thousand


# Values that are parsed without a pause, between the ends of two objects.
_IN_A_ROW = 50_000
_EACH = 10  # values that cost as much as an object
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|\Z', re.DOTALL)


_RIGHT = rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
"""What JSON allows in a string."""
_STRINGS = rb'(?:[^"]*+"' + _RIGHT + rb'")*+[^"]*+(?:"' + _RIGHT + rb")?+"
_OUTSIDE = re.compile(_STRINGS)
"""From outside of a string on, all up to the first byte that no string may have."""
_INSIDE = re.compile(_RIGHT + rb'(?:"' + _STRINGS + rb")?+")
_MOST_WRONG = 20_000
"""Bytes that lack an escape: what has more of them is left alone, as it takes too long."""


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


def whole_number(given: Json, *, cut: bool = True) -> int | None:
    """Return *given* as an integer, truncated if *cut*; None if that is impossible."""
    if type(given) is int:
        return given
    text = given.text if isinstance(given, Number) else given
    try:
        number = float(text)
        return int(number) if cut or number.is_integer() else None
    except (TypeError, ValueError, OverflowError):
        return None


class RepeatedKeyError(ValueError):
    """An object repeats a key: no Python value can hold both."""


class _SpelledNumberError(TypeError):
    """A `Number` met the fast encoder."""


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise RepeatedKeyError
    return value


def _no_constant(text: str) -> Json:
    raise ValueError(text)


def _spelled(_: object) -> Json:
    raise _SpelledNumberError


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=Number, parse_constant=_no_constant
)
_scan: Callable[[str, int], tuple[Json, int]] = vars(_decoder)["scan_once"]
_decode_spelled = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=Number,
    parse_int=Number,
    parse_constant=_no_constant,
).decode
_decode_leniently = json.JSONDecoder(
    parse_float=Number, parse_constant=lambda _: None
).decode
_decode_request = json.JSONDecoder(
    parse_float=Number, parse_constant=_no_constant
).raw_decode
_first = json.JSONDecoder(parse_constant=_no_constant).raw_decode
_begun = json.JSONDecoder(parse_constant=_no_constant, strict=False).raw_decode
_MINUS_ZERO = re.compile(r"(?:^|[:,\[\s])-0")  # outside a text; ids often have one
_look = json.JSONDecoder(object_pairs_hook=lambda _: {}).decode
_encode = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,  # what was read from JSON is a tree
    allow_nan=False,
    separators=(",", ":"),
    default=_spelled,
).encode


def loads(data: bytes) -> Json:
    """Return the JSON value in *data* (UTF-8).

    Raises:
        ValueError: *data* is not valid JSON (`NaN` and `Infinity` are rejected) or not
            UTF-8.
        RepeatedKeyError: It repeats a key.
        RecursionError: It is nested too deeply for Python.
    """
    text = data.decode()
    _refuse_deep(data)
    if "-0" in text and _MINUS_ZERO.search(text):
        return _plain(_decode_spelled(text))
    try:
        if text.startswith(("{", "[")):
            # `decode` looks for blanks at both ends, which takes long.
            value, end = _scan(text, 0)
            if end == len(text):
                return value
        return _decoder.decode(text)
    except StopIteration as stop:  # a value is missing in it
        raise json.JSONDecodeError("Expecting value", text, stop.value) from None
    except (json.JSONDecodeError, RepeatedKeyError):
        raise
    except ValueError:  # an integer longer than sys.get_int_max_str_digits()
        return _plain(_decode_spelled(text))


def value_in(data: bytes, otherwise: Json = None) -> Json:
    """Return the JSON value in *data*; *otherwise* if `loads` would raise."""
    try:
        return loads(data)
    except (ValueError, RecursionError):
        return otherwise


def loads_request(data: bytes) -> Json:
    """Return the JSON value in *data*, a request: providers read one, however it repeats.

    Of a key that is repeated, the last value counts. Of long bodies this reads each
    object several times as fast as `loads` does.

    Raises:
        ValueError: *data* is not JSON, or has an integer that is too long for Python.
        RecursionError: It is nested too deeply for Python.
    """
    text = data.decode().strip(" \t\n\r")  # `decode` searches twice for that
    _refuse_deep(data)
    value, end = _decode_request(text)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def loads_leniently(data: bytes) -> Json:
    """Return the JSON value in *data* as lenient clients parse it.

    The last value of a repeated key counts; `NaN` and `Infinity` are null.

    Raises:
        ValueError: *data* is still not valid JSON.
        RecursionError: It is nested too deeply for Python.
    """
    text = data.decode()
    _refuse_deep(data)
    return _decode_leniently(text)


def _refuse_deep(data: bytes) -> None:
    """Reject a value that could be parsed, but not be written: the encoder fails first."""
    if data.count(b"{") + data.count(b"[") <= _DEEP:
        return
    # Without its escapes, what is between quotes is every other part; a backslash elsewhere
    # ends the parser. A loop over the bytes, or a pattern, takes several times as long.
    marks = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    bare = b"".join(marks.split(b'"')[::2])
    steps = memoryview(bare.translate(_STEPS)).cast("b")
    if max(accumulate(steps), default=0) > _DEEP:
        raise RecursionError


def _plain(value: Json) -> Json:
    """Convert the `Number`s in *value* that `int` spells identically into `int`s."""
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


def is_crowded(data: bytes, containers: int) -> bool:
    """Tell whether the JSON in *data* has so many values that it blocks everything else.

    Parsing and writing it takes ten times as long per byte as a long text does, and blocks
    all threads: Python switches threads only at the end of an object.

    Args:
        data: The JSON, or anything else.
        containers: The number of objects and arrays that is too many.
    """
    marks = data.count(b",") + data.count(b"[") + data.count(b"{")
    if marks <= min(_IN_A_ROW, containers):
        return False
    at = found = values = in_a_row = 0
    for string in _STRING.finditer(data):  # punctuation in a string does not count
        gap = data[at : string.start()]
        at = string.end()
        found += gap.count(b"[") + gap.count(b"{")
        values += gap.count(b",")
        if found > containers or values > _EACH * containers:
            return True
        for number, part in enumerate(gap.split(b"}")):
            in_a_row = (0 if number else in_a_row) + part.count(b",") + part.count(b"[")
            if in_a_row > _IN_A_ROW:
                return True
    return False


def is_container(data: bytes) -> bool:
    """Tell whether *data* is a JSON object or array."""
    try:
        return isinstance(_look(data.decode()), dict | list)
    except (ValueError, RecursionError):
        return False


def first_value(data: bytes) -> bytes:
    """Return the object at the start of *data*, whatever follows; empty if none."""
    text = data.decode(errors="replace").lstrip()
    try:
        value, end = _first(text)
        loads(text[:end].encode())
    except (ValueError, RecursionError):
        return b""
    return text[:end].encode() if isinstance(value, dict) else b""


def begun_value(data: bytes) -> Json:
    """Return the value at the start of *data*; keys may be repeated, and strings unescaped."""
    try:
        return _begun(data.decode(errors="replace").lstrip())[0]
    except (ValueError, RecursionError):
        return None


def is_broken(data: bytes) -> bool:
    """Tell whether no JSON parser accepts *data*, not even one that accepts `NaN`.

    Nor one that replaces bytes that are no UTF-8.
    """
    try:
        _look(data.decode(errors="replace"))
    except RecursionError:
        return False
    except ValueError:
        return True
    return False


def escaped(data: bytes) -> bytes | None:
    r"""Return broken JSON with what its strings lack, if it is JSON then: escapes.

    Control characters are escaped, and so is a backslash that begins no escape, but for
    `\'`, which loses it. None for anything else.
    """
    fixed = escape_strings(data)
    if fixed == data:
        return None
    try:
        loads(fixed)
    except (ValueError, RecursionError):
        return None
    return fixed


def escape_strings(data: bytes, *, is_quoted: bool = False) -> bytes:
    """Return JSON, or a part of some, with what `escaped` puts into its strings.

    Args:
        data: The JSON.
        is_quoted: Whether it begins within a string.
    """
    parts, at, most = list[bytes](), 0, _MOST_WRONG
    scan = _INSIDE if is_quoted else _OUTSIDE
    while (end := after(scan, data, at)) < len(data) - data.endswith(b"\\", end):
        most -= 1
        if not most:
            return data
        wrong = (
            data[end : end + 2] if data.startswith(rb"\'", end) else data[end : end + 1]
        )
        right = b"'" if wrong == rb"\'" else dumps(wrong.decode())[1:-1]
        parts += data[at:end], right
        at, scan = end + len(wrong), _INSIDE
    return b"".join([*parts, data[at:]])


def after(pattern: re.Pattern[Any], text: Any, at: int) -> int:
    """Return where the match of *pattern* at a place of *text* ends; there, without one."""
    found = pattern.match(text, at)
    return found.end() if found else at


def dumps(value: Json, *, by_parts: bool = False) -> bytes:
    """Return *value* in OpenAI's spelling: compact, UTF-8 unescaped, in the same order.

    A lone surrogate, which UTF-8 has no bytes for, is written as its ASCII escape.

    Args:
        value: What to write.
        by_parts: Whether to let other threads run meanwhile, which takes longer.
    """
    try:
        text = _write(value) if by_parts else _encode(value)
    except _SpelledNumberError:
        text = _write(value)
    return text.encode("utf-8", "backslashreplace")  # by place: that is quicker


def _write(value: Json) -> str:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        items = (f"{_encode(key)}:{_write(each)}" for key, each in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    return _encode(value)


def as_object(value: Json) -> dict[str, Json]:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return *value* if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_string(value: Json) -> str:
    """Return *value* if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def objects_in(value: Json) -> list[dict[str, Json]]:
    """Return the objects in a list; none for anything else."""
    return [each for each in as_list(value) if isinstance(each, dict)]
