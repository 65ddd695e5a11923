import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.wire.json_text import (
    Number,
    RepeatedKeyError,
    dumps,
    escaped,
    is_broken,
    is_crowded,
    loads,
    loads_leniently,
    loads_request,
)

LITERALS = (
    "0",
    "-0",
    "-0.0",
    "1.10",
    "1e400",
    "-1E+5",
    "1e-7",
    "0.1000000000000000055511151231257827",
    "18446744073709551616",
    "-17",
    "9" * 999,
    "-" + "9" * 999,
    "9" * 1000,
    "9" * 5000,
    "-" + "1" * 5000,
)


@pytest.mark.parametrize("literal", LITERALS, ids=lambda each: each[:12])
@pytest.mark.parametrize("form", ["%s", '{"a":%s}', "[[%s],1]", '{"-0":[{"b":%s}]}'])
def test_a_number_keeps_its_spelling(form: str, literal: str) -> None:
    text = (form % literal).encode()
    assert dumps(loads(text)) == text


def test_request_is_one_value_with_blanks_around_it() -> None:
    assert loads_request(b' \t\r\n{"a":1,"a":2}\n') == {"a": 2}
    for text in (b"", b" ", b"{} {}", b"{}x", b"[1]]", "{}\u00a0".encode(), b"NaN"):
        with pytest.raises(ValueError, match=r"\w"):
            loads_request(text)


def test_a_number_is_its_spelling() -> None:
    assert Number("1.0") == Number("1.0")
    assert Number("1.0") != Number("1.00")
    assert Number("1.0") != 1.0
    assert len({Number("1.0"), Number("1.0"), Number("1e0")}) == 2
    assert repr(Number("1.50")) == "Number('1.50')"


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    text = rb'{"content":"a\ud83d","\udc00":"\udfff\ud800"}'
    assert dumps(loads(text)) == text


def test_a_surrogate_pair_becomes_its_character() -> None:
    assert dumps(loads(rb'"\ud83d\ude00"')) == '"\N{GRINNING FACE}"'.encode()


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":1}',
        b'[{"b":{"a":1,"c":2,"a":3}}]',
        b'{"a":-0,"a":1}',
        rb'{"a":1,"\u0061":2}',
        b'{"a":%s,"a":1}' % (b"9" * 5000),
    ],
)
def test_a_repeated_key_is_refused(text: bytes) -> None:
    with pytest.raises(RepeatedKeyError):
        loads(text)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("form", ["%s", '{"a":[%s]}', '{"b":-0,"a":%s}'])
def test_constants_that_are_no_json_are_refused(form: str, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        loads((form % name).encode())


NO_JSON = b"", b"{", b"{}{}", b"{'a':1}", b"01", b"1.", b'"\n"', b"[1,]", b"-0x"
NO_UTF_8 = b'"\xff"', b'"\xed\xa0\x80"', b"\xef\xbb\xbf{}"


@pytest.mark.parametrize("text", [*NO_JSON, *NO_UTF_8])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_nesting_beyond_python_is_refused() -> None:
    with pytest.raises(RecursionError):
        loads(b"[" * 100_000)


@pytest.mark.parametrize("read", [loads, loads_request, loads_leniently])
def test_brackets_in_texts_are_no_nesting(read: Callable[[bytes], Any]) -> None:
    texts = ["[" * 300, "\\", '"[' * 300, '\\"{' * 300, "é\\\\"]
    assert read(dumps(texts)) == texts
    with pytest.raises(RecursionError):  # which closing ones in texts do not hide
        read(b'["]\\"]\\\\",' * 300 + b"1" + b"]" * 300)


@pytest.mark.parametrize("leaf", [b"1", b"1.5", b"-0"])
def test_what_can_be_read_can_be_written(leaf: bytes) -> None:
    # Else a repaired event is found unwritable when it is too late to pass it raw.
    text = b"[" * 700 + leaf + b"]" * 700
    try:
        value = loads(text)
    except RecursionError:
        return
    assert dumps(value) == text


def test_what_is_no_json_value_is_not_written() -> None:
    with pytest.raises(TypeError):
        dumps({"a": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(float("nan"))


def spelled(value: Any) -> str:
    """Write *value* compactly; a tuple holds a number's spelling."""
    if isinstance(value, tuple):
        return str(value[0])
    if isinstance(value, dict):
        items = (f"{spelled(key)}:{spelled(each)}" for key, each in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def paired(text: str) -> str:
    """Join what a high and a low surrogate beside each other spell."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


numbers = st.from_regex(
    r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)
strings = st.text(st.characters()).map(paired)
values = st.recursive(
    st.none() | st.booleans() | strings | st.tuples(numbers),
    lambda each: st.lists(each) | st.dictionaries(strings, each),
    max_leaves=20,
)


@given(values)
def test_compact_json_comes_back_byte_for_byte(value: Any) -> None:
    text = spelled(value).encode(errors="backslashreplace")
    assert dumps(loads(text)) == text


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = loads(data)
    except ValueError:
        return
    assert loads(dumps(value)) == value


def test_text_that_is_cut_off_is_refused_without_reading_it_again_and_again() -> None:
    # Quadratic work on this would take minutes, not a moment.
    half = '{"a":"' + '[{\\"k\\":1}],' * 100_000
    with pytest.raises(ValueError, match="Unterminated"):
        loads(half.encode())


@pytest.mark.parametrize(
    ("data", "crowded"),
    [
        (b'{"a":"' + b"1,[{" * 100_000 + b'"}', False),  # a text
        (b'{"a":"' + b'\\"1,' * 100_000 + b'"}', False),
        (b"[" + b"1," * 60_000 + b"1]", True),
        (b"[" + b'"",' * 60_000 + b"1]", True),
        (b"[" + b"[]," * 60_000 + b"1]", True),
        (b"[" + b'{"a":1,"b":2},' * 60_000 + b"1]", False),
        (b"[" + b"{}," * 110_000 + b"1]", True),
        (b"[" + (b'{"a":[' + b"1," * 40_000 + b"1]},") * 30 + b"1]", True),
        (b"[" + (b'{"a":[' + b"1," * 40_000 + b"1]},") * 20 + b"1]", False),
        (b"[" + b'{"a":""},' * 110_000 + b"1]", True),
        (b'{"a":' + b'"' + b"," * 60_000, False),  # cut off
    ],
)
def test_many_values_are_seen_before_they_are_read(data: bytes, crowded: bool) -> None:
    assert is_crowded(data, 100_000) is crowded


@pytest.mark.parametrize("data", [b'{"a":"\xff"}', b"[" * 100_000])
def test_what_cannot_be_looked_at_is_not_called_broken(data: bytes) -> None:
    assert not is_broken(data)


def test_strings_that_lack_many_escapes_are_left_alone() -> None:
    assert escaped(b'{"a":"\t"}') == rb'{"a":"\t"}'
    assert escaped(b'{"a":"' + b"\t" * 20_001 + b'"}') is None
