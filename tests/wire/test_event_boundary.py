import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each_case import each_case
from llm_normalize.wire import event_boundary, sse
from llm_normalize.wire.event_boundary import ValueScan, is_complete_value
from llm_normalize.wire.sse import BOM, EventParser
from wire.parsed import (
    Found,
    folded,
    gap,
    items_of,
    left_at,
    lines,
    open_lines,
    open_value,
    read,
    value,
)

VALUE = b'{"a":"b"}'
OTHER = b'{"c":[1,{"d":"}"}]}'
LINE = b"data: " + VALUE + b"\n"
NEXT = b"data: " + OTHER + b"\n"
SINGLE = [open_lines(LINE), open_lines(NEXT)]
"""Two events that one line end parts."""
ENDS = (b"\n", b"\r\n", b"\r")


def events(*payloads: bytes, end: bytes = b"\n") -> bytes:
    return b"".join(b"data: " + payload + end for payload in payloads)


# -- where events end --------------------------------------------------------------

VALUES = (
    b"{}",
    b"[]",
    b"[DONE]",
    b'{"a":{"b":[{},[[]]]}}',
    b'{"a":"}]{["}',
    b'{"a":"\\""}',
    b'{"a":"\\\\"}',
    b'{"a":"\\\\\\"}"}',
    b'{"\\\\":"\\u005c"}',
    b'{\n  "a": [\n    1\n  ]\n}',
    b'{\r\n  "a": 1\r\n}',
    b'{\r  "a": 1\r}',
    b'{"\xc3\xa9":"\xf0\x9f\x98\x80"}',
    b'["data: x",": y"]',
)
OF_ONE_LINE = [each for each in VALUES if b"\n" not in each and b"\r" not in each]


@each_case(VALUES)
def test_values_and_events_end_with_any_line_end(raw: bytes) -> None:
    assert read(raw * 3) == [open_value(raw)] * 3
    for end in ENDS:
        assert read((raw + end) * 3) == [value(raw + end)] * 3
        if raw in OF_ONE_LINE:
            line = b"data: " + raw + end
            assert read(line * 3) == [open_lines(line)] * 3


CASES: dict[str, list[Found]] = {
    "blanks around values": [
        open_value(b" \t" + VALUE + b" \t"),
        value(OTHER + b"  \n"),
        open_value(b"  " + VALUE + b" "),
    ],
    "data glued to a value": [
        open_value(VALUE),
        lines(b"data: x\n\n"),
        open_value(VALUE + b"\t "),
        lines(b"data: x\n\n"),
        value(b"[DONE]\n"),
    ],
    "words behind a value": [
        open_value(b"[info] "),
        lines(b"started\n" + LINE + b"\n"),
    ],
    "blank lines between values": [
        value(VALUE + b"\n"),
        gap(b"\n"),
        value(OTHER + b"\r\n"),
        gap(b"\r\n\n"),
    ],
    "a byte order mark before data": [lines(BOM + LINE + b"\n")],
    "a byte order mark before a value": [value(BOM + b"  " + VALUE + b"\n")],
    "a byte order mark later": [lines(LINE + b"\n"), lines(BOM + VALUE + b"\n\n")],
    "a byte order mark before a line end": [lines(BOM + b"\r\n" + LINE + b"\n")],
    "a byte order mark before blanks": [lines(BOM + b" \n" + LINE + b"\n")],
    "a byte order mark before one line end": [open_lines(BOM + LINE), *SINGLE],
    "brackets that match, JSON or not": [
        value(b"{garbage]\n"),
        open_value(b"{}"),
        lines(b"}\n\n"),
    ],
    "bare values and data": [
        *SINGLE,
        value(VALUE + b"\n"),
        *SINGLE,
        value(b"[DONE]\n"),
    ],
    "fields before data": [open_lines(b"event: e\nid: 7\nretry: 9\n" + LINE)] * 3,
    "fields behind data": [
        open_lines(LINE),
        *[open_lines(b"id: 7\n" + LINE)] * 2,
        lines(b"id: 7\n\n"),
    ],
    "comments alone": [
        *SINGLE,
        open_lines(b": ping\n"),
        open_lines(LINE),
        open_lines(b": x\n"),
        gap(b"\n"),
    ],
    "a comment between fields": [
        *SINGLE,
        open_lines(b"id:1\nevent:error\n:HTTP_STATUS/429\n" + LINE),
    ],
    "words as data": [
        *SINGLE,
        *map(open_lines, (b"data: null\n", b"data: : ping\n", b"data: Server Error\n")),
    ],
    "data that says nothing first": [open_lines(b"data: null\n"), *SINGLE],
    "a comment as data first": [open_lines(b"data: : ping\n"), lines(LINE + b"\n")],
    "half a line amid others": [*SINGLE, open_lines(b'data: {"a":"b\n' * 2), *SINGLE],
    "half a doubled one": [*SINGLE, open_lines(b'data: data: {"a":"b\n' * 2), *SINGLE],
    "half a line first": [open_lines(b'data: {"a":"b\n' + LINE + NEXT)],
    "glued values": [open_lines(LINE[:-1] + NEXT)] * 2,
    "data doubled": [open_lines(b"data: " + LINE)] * 2,
    "a blank line": [*SINGLE, lines(b"data:\n\n")],
    "mixed line ends": [
        open_lines(LINE[:-1] + b"\r\n"),
        open_lines(LINE[:-1] + b"\r"),
        open_lines(LINE),
        gap(b"\n"),
        open_lines(LINE[:-1] + b"\r"),
        gap(b"\r"),
    ],
    "[DONE] behind one line end": [
        open_lines(LINE),
        open_lines(b"data: [DONE]\n"),
        gap(b"\n"),
    ],
    "gaps before and between": [
        gap(b"\n\r\n"),
        lines(b"data: 1\n\n"),
        gap(b"\n\r\n"),
        open_lines(b"data: 2\n"),
    ],
    "lines of one event": [lines(b"data: 1\r\ndata: 2\r\n\r\n")],
}


@each_case(CASES, ids=str)
def test_events_end_where_a_reader_would_part_them(name: str) -> None:
    assert read(b"".join(raw for raw, _ in CASES[name])) == CASES[name]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b' {"a":[1]}\n', True),
        (b"[DONE]", True),
        (b'{"a":[1]', False),
        (b"{}{}", False),
        (b": {a1}", False),
        (b"5", False),
        (b"", False),
    ],
)
def test_a_whole_value_is_told_by_its_brackets(data: bytes, expected: bool) -> None:
    assert is_complete_value(data) == expected


# -- when a block leaves -----------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\n", b"\n\r", b"\r\n\r"])
def test_an_event_leaves_with_the_last_byte_of_its_blank_line(end: bytes) -> None:
    data = b"data: " + VALUE + end
    assert left_at(data) == [len(data)]


@pytest.mark.parametrize(
    "data",
    [
        b" " * 4000 + b"{}\n",
        b"{}" + b" " * 4000 + b"\n",
        b"{" + b" " * 4000 + b"}\n",
        b'{"a":"' + b"\\n" * 2000 + b'"}\n',
        b"data: {}\ndata:" + b" " * 4000 + b"{}\n",
        b"data: {}\n" + b": x\n" * 1000 + b"data: {}\n",
        b"data: {}\r\n" * 500,
        b"{\n" * 2000 + b"\n",
    ],
)
def test_megabytes_in_tiny_reads_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    looked = 0

    class Counting:
        """A pattern that notes how far it has to look."""

        def __init__(self, name: str) -> None:
            self.pattern = getattr(event_boundary, name)

        def match(self, data: bytes, at: int) -> object:
            return self.note(self.pattern.match(data, at), at, at)

        def search(self, data: bytes, at: int) -> object:
            return self.note(self.pattern.search(data, at), at, len(data))

        def note(self, found: object, at: int, end: int) -> object:
            nonlocal looked
            looked += max(getattr(found, "end", lambda: end)() - at, 1)
            return found

    for name in ("_BLANKS", "_LINE_END", "_BEGINS", "_GLUE"):
        monkeypatch.setattr(event_boundary, name, Counting(name))
    parser = EventParser()
    for at in range(0, len(data), 2):
        parser.feed(data[at : at + 2])
    parser.end()
    assert looked < 5 * len(data)


def test_a_value_over_the_limit_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 20)
    large = b'{"a":"' + b"x" * 30
    items = folded(items_of([large[:25], large[25:], b'"}\n\n', events(b"1") + b"\n"]))
    assert [raw for raw, kind in items if kind == "large"]
    assert items[-1] == lines(b"data: 1\n\n")


# -- anything ----------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *(b"{", b"}", b"[", b"]", b'"', b"\\", b'{"a":1}', b'{"a":"\\"}', b"[DONE]"),
        *(
            b"data:",
            b"data: ",
            b"data: x",
            b"error: ",
            b"event: e",
            b"id: 7",
            b": ping",
        ),
        *(b"null", b"x", b" ", b"\t", b"\n", b"\n\n", b"\r", b"\r\n"),
        *(BOM, BOM[:2], b"\xff", b"\0"),
    ]
)
LINES = st.sampled_from(
    [
        *(LINE[:-1], b"data:" + OTHER, VALUE, b"data: : ping", b"data: null", b"data:"),
        *(b'data: {"a":', b"data: words", b": ping", b"id: 7", b"event: error"),
        *(b"data: [DONE]", b"[DONE]", b"", b" "),
    ]
)


def joined(parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"".join(line + end for line, end in parts)


WIRES = st.one_of(
    st.lists(PIECES, max_size=30).map(b"".join),
    st.lists(st.tuples(LINES, st.sampled_from(ENDS)), max_size=12).map(joined),
    st.binary(max_size=60),
)


@given(WIRES)
def test_no_cut_matters_and_nothing_is_lost(data: bytes) -> None:
    read(data)


@given(WIRES)
def test_no_cut_decides_what_is_over_the_limit(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "MAX_EVENT", 9)
        read(data)


@given(st.lists(PIECES, max_size=20).map(b"".join))
def test_what_left_early_is_what_leaves_first(data: bytes) -> None:
    whole = folded(items_of([data]))
    for at in range(len(data)):
        parser = EventParser()
        early = folded(parser.feed(data[:at]))
        sure = max(len(early) - 1, 0)  # a line feed may join the last
        assert [raw for raw, _ in whole[:sure]] == [raw for raw, _ in early[:sure]]


@given(
    st.lists(st.sampled_from([VALUE, OTHER, b"[DONE]", b'{"a":"data: {}\\n"}'])),
    st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]),
)
def test_openai_framing_is_never_parted(payloads: list[bytes], end: bytes) -> None:
    found = [lines(b"data: " + payload + end) for payload in payloads]
    assert read(events(*payloads, end=end)) == found


@given(
    st.recursive(
        st.text(max_size=4) | st.integers(),
        lambda part: (
            st.lists(part, max_size=3)
            | st.dictionaries(st.text(max_size=3), part, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_a_value_ends_where_json_says(part: object) -> None:
    whole = {"value": part}
    for text in (json.dumps(whole), json.dumps(whole, ensure_ascii=False, indent=1)):
        data = text.encode()
        assert ValueScan().find(data + b"\n{") == len(data)
        assert read(data + b"\n") == [value(data + b"\n")]


def test_an_escaped_blank_line_behind_no_value_ends_nothing() -> None:
    for data in (rb"data: words}\n\n", rb'data: {"a":"}\n\n'):
        assert left_at(data) == []
        assert read(data) == [open_lines(data)]
