import json
import random
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each_case import each_case
from llm_normalize.wire import event_boundary, sse
from llm_normalize.wire.event_boundary import (
    Boundary,
    ValueScan,
    is_complete_value,
    value_end,
    values_in,
)
from llm_normalize.wire.sse import BOM, Event, EventParser, Gap, Item, Oversized
from streams import cuts

VALUE = b'{"a":"b"}'
OTHER = b'{"c":[1,{"d":"}"}]}'


def items_of(reads: Sequence[bytes]) -> list[Item]:
    parser = EventParser()
    items = [item for read in reads for item in parser.feed(read)]
    return [*items, *parser.end()]


def folded(items: Sequence[Item]) -> list[tuple[bytes, str]]:
    """Return what *items* say, wherever the reads were cut."""
    out: list[tuple[bytes, str]] = []
    for item in items:
        more = isinstance(item, Gap) and bool(out) and out[-1][1] == "gap"
        if more or (isinstance(item, Gap) and item.joins):
            raw, kind = out.pop()
            out.append((raw + item.raw, kind))
        else:
            out.append((item.raw, kind_of(item)))
    return out


def kind_of(item: Item) -> str:
    match item:
        case Gap():
            return "gap"
        case Oversized():
            return "large"
        case _:
            kind = "value" if item.is_value else "lines"
            return kind if item.closed else f"{kind}, open"


def read(data: bytes) -> list[tuple[bytes, str]]:
    """Return the items of *data*, which must be the same in any cut."""
    whole = folded(items_of([data]))
    for reads in cuts(data):
        items = items_of(reads)
        assert folded(items) == whole, reads
        assert b"".join(item.raw for item in items) == data, reads
    if len(data) < 200:
        for at in range(len(data)):
            assert folded(items_of([data[:at], data[at:]])) == whole, at
    return whole


def left_at(data: bytes) -> list[int]:
    """Return after how many bytes each block of *data* leaves; not those of the end."""
    parser = EventParser()
    return [
        at + 1
        for at in range(len(data))
        for item in parser.feed(data[at : at + 1])
        if isinstance(item, Event)
    ]


def events(*payloads: bytes, end: bytes = b"\n") -> bytes:
    return b"".join(b"data: " + payload + end for payload in payloads)


# -- one value ---------------------------------------------------------------------

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


@each_case(
    (value, more)
    for value in VALUES
    for more in (b"", b" ", b"\n", b"}", b"{", b'"', b"\\", b"x")
)
def test_a_value_ends_with_its_last_bracket(value: bytes, more: bytes) -> None:
    assert value_end(value + more) == len(value)
    assert value_end(b" \t" + value + more) == len(value) + 2


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_found_at_its_last_byte_however_it_is_cut(value: bytes) -> None:
    for start in (0, 3):
        data = bytearray(b"abc"[:start])
        scan = ValueScan()
        for at in range(len(value)):
            assert scan.find(data, start) == -1
            data += value[at : at + 1]
        assert scan.find(data, start) == start + len(value)
        assert scan.find(data + b"}", start) == start + len(value)
        assert not scan.broken


@pytest.mark.parametrize(
    "data",
    [b"", b" ", b"x{}", b'"a"', b"1", b"null", b"data: {}", b"{", b'{"a":"}"'],
)
def test_what_is_no_whole_value_has_no_end(data: bytes) -> None:
    assert value_end(data) == 0
    assert not is_complete_value(data)


@pytest.mark.parametrize(
    "data", [b'{"a":"b\nc"}', b'{"a":"b\r"}', b"{\n\n}", b"[\r\r]", b"{\n \t\n}"]
)
def test_a_line_end_in_a_string_or_a_blank_line_breaks_a_value(data: bytes) -> None:
    scan = ValueScan()
    assert scan.find(data) == -1
    assert scan.broken
    assert value_end(data) == 0


@pytest.mark.parametrize("data", [b"{\r\n\r\n}", b"{\n\r\n}", b"{\r\n \r\n}"])
def test_a_cut_crlf_is_no_blank_line(data: bytes) -> None:
    for reads in cuts(data):
        scan = ValueScan()
        come = bytearray()
        for each in reads:
            come += each
            if scan.find(come) == -1 and scan.broken:
                break
        assert scan.broken
    assert value_end(b"{\r\n}") == 4


@pytest.mark.parametrize("value", VALUES)
def test_whole_is_what_nothing_but_blanks_surrounds(value: bytes) -> None:
    assert is_complete_value(value)
    assert is_complete_value(b" \n" + value + b"\r\n ")
    assert not is_complete_value(value + value)
    assert not is_complete_value(value + b",")
    assert not is_complete_value(value[:-1])


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"{}", [b"{}"]),
        (b"{}[DONE]", [b"{}", b"[DONE]"]),
        (b" {} \t{} ", [b"{}", b"{}"]),
        (b"{}data: {}data:[DONE]", [b"{}", b"{}", b"[DONE]"]),
        (b"data: data: {} data:data: {}", [b"{}", b"{}"]),
        (b'{"a":"data: {}"}', [b'{"a":"data: {}"}']),
        (b"", []),
        (b"data: ", []),
        (b"{},{}", []),
        (b"{}bye", []),
        (b"{}{", []),
        (b"null", []),
        (b"{}null", []),
        (b"{}: ping", []),
        (b"{}\n{}", []),
        (b"{}event: x", []),
    ],
)
def test_values_of_a_line_are_all_of_it_or_none(
    data: bytes, values: list[bytes]
) -> None:
    assert values_in(data) == values


@pytest.mark.unmeasured
def test_values_of_a_line_are_found_in_linear_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = 0
    find = ValueScan.find

    def counted(scan: ValueScan, data: bytes, start: int = 0) -> int:
        nonlocal looked
        end = find(scan, data, start)
        looked += end - start
        return end

    monkeypatch.setattr(ValueScan, "find", counted)
    line = b'{"a":[]}data: ' * 5000
    tracemalloc.start()
    assert len(values_in(line)) == 5000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert looked <= len(line)
    assert peak < 20 * len(line)


# -- values without `data:` --------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("value", VALUES)
def test_lines_of_json_are_a_block_each(value: bytes, end: bytes) -> None:
    assert read((value + end) * 3) == [(value + end, "value")] * 3


@pytest.mark.parametrize("value", VALUES)
def test_values_without_anything_between_are_a_block_each(value: bytes) -> None:
    assert read(value * 3) == [(value, "value, open")] * 3


def test_blanks_behind_a_value_belong_to_it() -> None:
    assert read(VALUE + b" \t" + OTHER + b"  \n" + VALUE + b" ") == [
        (VALUE + b" \t", "value, open"),
        (OTHER + b"  \n", "value"),
        (VALUE + b" ", "value, open"),
    ]


def test_blanks_before_a_value_belong_to_it() -> None:
    assert read(b" \t" + VALUE + b"\n  " + OTHER) == [
        (b" \t" + VALUE + b"\n", "value"),
        (b"  " + OTHER, "value, open"),
    ]


@pytest.mark.parametrize("blank", [b"", b" ", b"\t  "])
def test_data_glued_to_a_value_begins_anew(blank: bytes) -> None:
    assert read(VALUE + blank + events(b"x", end=b"\n\n") + b"[DONE]\n") == [
        (VALUE + blank, "value, open"),
        (b"data: x\n\n", "lines"),
        (b"[DONE]\n", "value"),
    ]


def test_words_behind_a_value_begin_anew() -> None:
    assert read(b"[info] started\n" + events(VALUE, end=b"\n\n")) == [
        (b"[info] ", "value, open"),
        (b"started\ndata: " + VALUE + b"\n\n", "lines"),
    ]


def test_blank_lines_between_values_are_gaps() -> None:
    assert read(VALUE + b"\n\n" + OTHER + b"\r\n\r\n\n") == [
        (VALUE + b"\n", "value"),
        (b"\n", "gap"),
        (OTHER + b"\r\n", "value"),
        (b"\r\n\n", "gap"),
    ]


def test_a_value_over_several_lines_is_one_block() -> None:
    for newline in (b"\n", b"\r\n", b"\r"):
        value = json.dumps(json.loads(OTHER), indent=2).encode()
        value = value.replace(b"\n", newline)
        assert read(newline + value + newline * 2) == [
            (newline, "gap"),
            (value + newline, "value"),
            (newline, "gap"),
        ]


@pytest.mark.parametrize("blank", [b" ", b"\t", b"  \t "])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_of_blanks_leaves_at_once_and_hides_no_value(
    blank: bytes, end: bytes
) -> None:
    line = blank + end
    assert read(line * 2 + VALUE + b"\n" + line + events(b"1", end=b"\n\n")) == [
        (line, "lines"),
        (line, "lines"),
        (VALUE + b"\n", "value"),
        (line, "lines"),
        (b"data: 1\n\n", "lines"),
    ]
    assert left_at(line)[0] <= len(line)


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        (b"", [(b"data: 1\n\n", "lines")]),
        (VALUE + b"\n", [(VALUE + b"\n", "value"), (b"data: 1\n\n", "lines")]),
    ],
)
def test_a_byte_order_mark_counts_at_the_start_only(
    value: bytes, rest: list[tuple[bytes, str]]
) -> None:
    (raw, kind), *more = rest
    assert read(BOM + value + b"data: 1\n\n") == [(BOM + raw, kind), *more]
    later = b"data: 1\n\n" + BOM + VALUE + b"\n\n"
    assert read(later)[-1] == (BOM + VALUE + b"\n\n", "lines")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_end_behind_the_mark_begins_the_block(end: bytes) -> None:
    raw = BOM + end + b"data: 1" + end * 2
    assert read(raw) == [(raw, "lines")]


def test_a_mark_before_blanks_hides_neither_value_nor_lines() -> None:
    assert read(BOM + b"  " + VALUE + b"\n") == [(BOM + b"  " + VALUE + b"\n", "value")]
    assert read(BOM + b" \ndata: 1\n\n") == [(BOM + b" \ndata: 1\n\n", "lines")]


@pytest.mark.parametrize(
    "half", [b"{", b"[", b'{"a', b'{"a":"\\', b'{"a":"\\\\', b'{\n "a":\r\n', b"{{}"]
)
def test_half_a_value_stays_open_until_the_end(half: bytes) -> None:
    assert read(half) == [(half, "lines, open")]
    assert read(VALUE + b"\n" + half)[-1] == (half, "lines, open")


@pytest.mark.parametrize(
    "raw",
    [
        b'{garbage "\n\n',
        b"{ not json\n\n",
        b'{"a":"b\nc"}\n\n',
        b'{"a":\n\n',
        b"[x\ndata: 1\n\n",
    ],
)
def test_what_only_begins_like_a_value_ends_at_its_blank_line(raw: bytes) -> None:
    assert read(raw + b"data: 1\n\n") == [(raw, "lines"), (b"data: 1\n\n", "lines")]


def test_brackets_that_match_are_a_value_json_or_not() -> None:
    assert read(b"{garbage]\n{}}\n\n") == [
        (b"{garbage]\n", "value"),
        (b"{}", "value, open"),
        (b"}\n\n", "lines"),
    ]


# -- one line end between events ---------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    "value", [each for each in VALUES if b"\n" not in each and b"\r" not in each]
)
def test_one_line_end_parts_data_lines_that_are_whole(value: bytes, end: bytes) -> None:
    line = b"data: " + value + end
    *first, last = read(line * 3)
    assert first == [(line, "lines, open")] * 2
    assert last == (line, "lines, open")


@pytest.mark.parametrize("space", [b"", b" ", b"   ", b"\t"])
def test_blanks_around_the_value_of_a_line_do_not_matter(space: bytes) -> None:
    line = b"data:" + space + VALUE + space + b"\n"
    assert read(line * 2) == [(line, "lines, open")] * 2


def test_bare_values_and_data_lines_may_alternate() -> None:
    data = events(VALUE, OTHER) + VALUE + b"\n" + events(OTHER) + b"[DONE]\n"
    assert read(data) == [
        (b"data: " + VALUE + b"\n", "lines, open"),
        (b"data: " + OTHER + b"\n", "lines, open"),
        (VALUE + b"\n", "value"),
        (b"data: " + OTHER + b"\n", "lines, open"),
        (b"[DONE]\n", "value"),
    ]


@pytest.mark.parametrize("next_one", [VALUE, b"[DONE]", b'error: {"message":"x"}'])
def test_what_begins_another_event_parts_the_first(next_one: bytes) -> None:
    first, *_ = read(events(VALUE) + next_one + b"\n\n")
    assert first == (b"data: " + VALUE + b"\n", "lines, open")


def test_fields_before_data_stay_with_it() -> None:
    event = b"event: message\nid: 7\nretry: 9\ndata: " + VALUE + b"\n"
    assert read(event * 3) == [
        # Only the data line of the next one tells where the first ended.
        (event, "lines, open"),
        (event, "lines, open"),
        (event, "lines, open"),
    ]


def test_fields_after_data_go_to_the_next_once_lines_part_events() -> None:
    event = b"data: " + VALUE + b"\nid: 7\n"
    assert read(event * 3 + b"\n") == [
        (b"data: " + VALUE + b"\n", "lines, open"),
        (b"id: 7\ndata: " + VALUE + b"\n", "lines, open"),
        (b"id: 7\ndata: " + VALUE + b"\n", "lines, open"),
        (b"id: 7\n\n", "lines"),
    ]


def test_a_comment_alone_is_a_block_once_lines_part_events() -> None:
    assert read(events(VALUE, OTHER) + b": ping\n" + events(VALUE) + b": x\n\n") == [
        (b"data: " + VALUE + b"\n", "lines, open"),
        (b"data: " + OTHER + b"\n", "lines, open"),
        (b": ping\n", "lines, open"),
        (b"data: " + VALUE + b"\n", "lines, open"),
        (b": x\n", "lines, open"),
        (b"\n", "gap"),
    ]


def test_a_comment_between_fields_and_data_stays_with_them() -> None:
    error = b"id:1\nevent:error\n:HTTP_STATUS/429\ndata:" + VALUE + b"\n"
    assert read(events(VALUE, OTHER) + error)[-1] == (error, "lines, open")


def test_words_as_data_are_an_event_once_lines_part_events() -> None:
    said = events(b"null", b": ping", b"Internal Server Error", b"data: x", b"1")
    assert read(events(VALUE, OTHER) + said)[2:] == [
        (line, "lines, open") for line in said.splitlines(keepends=True)
    ]


@pytest.mark.parametrize("first", [b": ping", b"null"])
def test_data_that_says_nothing_does_not_hide_the_first_value(first: bytes) -> None:
    assert read(events(first, VALUE, OTHER)) == [
        (b"data: " + first + b"\n", "lines, open"),
        (b"data: " + VALUE + b"\n", "lines, open"),
        (b"data: " + OTHER + b"\n", "lines, open"),
    ]
    assert read(events(first) + events(VALUE, end=b"\n\n")) == [
        (b"data: " + first + b"\n", "lines, open"),
        (b"data: " + VALUE + b"\n\n", "lines"),
    ]


def test_half_a_line_is_cut_off_where_lines_part_events() -> None:
    half = b'data: {"a":"b\n'
    assert read(events(VALUE, OTHER) + half + half + events(VALUE, OTHER))[2:] == [
        (half + half, "lines, open"),
        (b"data: " + VALUE + b"\n", "lines, open"),
        (b"data: " + OTHER + b"\n", "lines, open"),
    ]


def test_half_a_line_first_hides_where_events_end() -> None:
    data = b'data: {"a":"b\n' + events(VALUE, OTHER)
    assert read(data) == [(data, "lines, open")]


def test_glued_values_are_one_line_that_is_whole() -> None:
    line = b"data: " + VALUE + b"data: " + OTHER + b"\n"
    assert read(line * 2) == [(line, "lines, open")] * 2


def test_doubled_data_is_parted_like_any() -> None:
    line = b"data: data: " + VALUE + b"\n"
    assert read(line * 2) == [(line, "lines, open")] * 2


def test_a_byte_order_mark_does_not_hide_where_events_end() -> None:
    assert read(BOM + events(VALUE, OTHER)) == [
        (BOM + b"data: " + VALUE + b"\n", "lines, open"),
        (b"data: " + OTHER + b"\n", "lines, open"),
    ]


@pytest.mark.parametrize("empty", [b"data:", b"data: ", b"data", b"data:  \t"])
def test_empty_data_lines_part_nothing(empty: bytes) -> None:
    raw = b"data: " + VALUE + b"\n" + empty + b"\n" + empty + b"\n\n"
    assert read(raw * 2) == [(raw, "lines")] * 2
    raw = empty + b"\ndata: " + VALUE + b"\n\n"
    assert read(raw * 2) == [(raw, "lines")] * 2


@pytest.mark.parametrize(
    "raw",
    [
        b'data: {\ndata: "a": 1\ndata: }\n\n',
        b"data: [\ndata: {}\ndata: ]\n\n",
        b"data: [\ndata: {},\ndata: {}\ndata: ]\n\n",
        b'data: {"a":"\ndata: {}\n\n',
        b"data: words\ndata: {}\ndata: {}\n\n",
        b"data: {}\nid: 7\n\n",
        b"data: {}\n: c\nevent: e\nretry: 1\n\n",
        b"data: {}\ndat: {}\n\n",
        b"id: 7\ndata: {}\n\n",
        b"data: {}\r\n: c\r\n\r\n",
    ],
)
def test_an_event_of_the_standard_stays_whole(raw: bytes) -> None:
    assert read(raw * 3) == [(raw, "lines")] * 3


@pytest.mark.parametrize("raw", [b"data: [\ndata: {}\ndata: ]\n\n", b"data:\n\n"])
def test_a_blank_line_ends_an_event_wherever_lines_part_them(raw: bytes) -> None:
    if raw == b"data:\n\n":
        assert read(events(VALUE, OTHER) + raw)[2:] == [(raw, "lines")]
    else:
        assert read(events(VALUE, OTHER) + raw)[2][0] == b"data: [\n"


def test_line_ends_may_be_mixed() -> None:
    one, two, three = (b"data: " + VALUE + end for end in (b"\r\n", b"\r", b"\n"))
    assert read(one + two + three + one + b"\n" + two + b"\r") == [
        (one, "lines, open"),
        (two, "lines, open"),
        (three, "lines, open"),
        (one, "lines, open"),
        (b"\n", "gap"),
        (two, "lines, open"),
        (b"\r", "gap"),
    ]


# -- OpenAI's own framing ----------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_openai_framing_gives_a_block_an_event(end: bytes) -> None:
    payloads = [VALUE, OTHER, b'{"a":"data: {}"}', b"[DONE]"]
    assert read(events(*payloads, end=end)) == [
        (b"data: " + payload + end, "lines") for payload in payloads
    ]


def test_data_that_is_whole_keeps_the_fields_behind_it() -> None:
    raw = b"data: " + VALUE + b"\nid: 7\n\ndata: [DONE]\n\n"
    assert read(raw) == [
        (b"data: " + VALUE + b"\nid: 7\n\n", "lines"),
        (b"data: [DONE]\n\n", "lines"),
    ]


def test_done_behind_one_line_end_is_an_event_of_its_own() -> None:
    assert read(events(VALUE) + events(b"[DONE]", end=b"\n\n")) == [
        (b"data: " + VALUE + b"\n", "lines, open"),
        (b"data: [DONE]\n", "lines, open"),
        (b"\n", "gap"),
    ]


# -- when a block leaves -----------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r", b"\r\r"])
def test_an_event_leaves_with_the_last_byte_of_its_blank_line(end: bytes) -> None:
    data = b"data: " + VALUE + end
    assert left_at(data) == [len(data)]


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_a_value_leaves_with_its_line_end(end: bytes) -> None:
    data = VALUE + end
    assert left_at(data * 2) == [len(data), 2 * len(data)]


def test_a_value_without_line_end_waits_for_what_follows() -> None:
    assert left_at(VALUE + b"  ") == []
    assert left_at(VALUE + b"  " + VALUE) == [len(VALUE) + 3]
    assert left_at(VALUE + b"data:") == [len(VALUE) + 1]


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_the_first_of_single_lines_waits_for_the_data_of_the_next(end: bytes) -> None:
    line = b"data: " + VALUE + end
    begun = len(line) + len(b"data: {")
    assert left_at(line + b"data: ") == []
    assert left_at(line + b"data: {") == [begun]
    assert left_at(line * 3) == [begun, 2 * len(line), 3 * len(line)]


def test_the_first_of_single_lines_waits_through_fields_and_comments() -> None:
    line = b"data: " + VALUE + b"\n"
    between = b"event: e\nid: 7\n: ping\n"
    assert left_at(line + between + b"data: {") == [len(line + between) + 7]
    assert left_at(line + b"error:") == [len(line) + 6]
    assert left_at(line + b"{") == [len(line) + 1]


def test_a_keep_alive_between_single_lines_leaves_with_its_line_end() -> None:
    line = b"data: " + VALUE + b"\n"
    known = left_at(line * 2)
    for keep in (b": ping\n", b"data: : ping\n", b"data: null\n"):
        assert left_at(line * 2 + keep) == [*known, len(line * 2 + keep)]


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
    monkeypatch.setattr(sse, "LIMIT", 20)
    large = b'{"a":"' + b"x" * 30
    items = folded(items_of([large[:25], large[25:], b'"}\n\n', events(b"1") + b"\n"]))
    assert [raw for raw, kind in items if kind == "large"]
    assert items[-1] == (b"data: 1\n\n", "lines")


# -- by itself ---------------------------------------------------------------------


def test_a_boundary_is_found_from_any_offset() -> None:
    found = Boundary()
    buffer = bytearray(b"\n\n" + VALUE + b"\n" + events(b"1", end=b"\n\n"))
    at = found.find(buffer, 2, 0)
    assert (at, found.is_value, found.is_closed) == (3 + len(VALUE), True, True)
    end = found.find(buffer, at, 0)
    assert (end, found.is_value, found.is_closed) == (len(buffer), False, True)


def test_a_boundary_tells_nothing_of_the_block_before() -> None:
    found = Boundary()
    buffer = bytearray(VALUE + VALUE + b"da")
    at = found.find(buffer, 0, 0)
    assert (found.is_value, found.is_closed) == (True, False)
    at = found.find(buffer, at, 0)
    assert found.find(buffer, at, 0) == -1
    assert (found.is_value, found.is_closed) == (False, True)


def test_a_restart_forgets_the_block_but_not_the_stream() -> None:
    found = Boundary()
    line = b"data: " + VALUE + b"\n"
    assert found.find(bytearray(line * 2), 0, 0) == len(line)
    assert found.find(bytearray(b"data: {"), 0, 0) == -1
    found.restart()
    assert found.find(bytearray(line), 0, 0) == len(line)


# -- anything ----------------------------------------------------------------------

PIECES = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\\",
    b'{"a":1}',
    b'{"a":"\\"}',
    b"[DONE]",
    b"data:",
    b"data: ",
    b"error: ",
    b"event: e",
    b"id: 7",
    b": ping",
    b"null",
    b"x",
    b" ",
    b"\t",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    BOM,
    BOM[:2],
    b"\xff",
    b"\0",
)
LINES = st.lists(
    st.sampled_from(
        [
            b"data: " + VALUE,
            b"data:" + OTHER,
            VALUE,
            b"data: : ping",
            b"data: null",
            b"data:",
            b'data: {"a":',
            b"data: words",
            b": ping",
            b"id: 7",
            b"event: error",
            b"data: [DONE]",
            b"[DONE]",
            b"",
            b" ",
        ]
    ),
    max_size=12,
)
WIRES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    st.builds(
        lambda lines, ends: b"".join(a + b for a, b in zip(lines, ends, strict=False)),
        LINES,
        st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=12, max_size=12),
    ),
    st.binary(max_size=40),
)


@given(WIRES)
def test_no_cut_matters_and_nothing_is_lost(data: bytes) -> None:
    read(data)


@given(st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join))
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
    data = events(*payloads, end=end)
    assert read(data) == [(b"data: " + payload + end, "lines") for payload in payloads]


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
def test_a_value_ends_where_json_says(value: object) -> None:
    whole = {"value": value}
    for text in (json.dumps(whole), json.dumps(whole, ensure_ascii=False, indent=1)):
        data = text.encode()
        assert value_end(data + b"\n{") == len(data)
        assert read(data + b"\n") == [(data + b"\n", "value")]


def test_random_bytes_never_raise() -> None:
    dice = random.Random(7)
    alphabet = b'{}[]"\\\r\n \tdata:x'
    for _ in range(300):
        read(bytes(dice.choices(alphabet, k=dice.randrange(60))))


def test_an_escaped_blank_line_behind_no_value_ends_nothing() -> None:
    for data in (rb"data: words}\n\n", rb'data: {"a":"}\n\n'):
        parser = EventParser()
        assert [
            item for at in range(len(data)) for item in parser.feed(data[at : at + 1])
        ] == []
        assert [item.raw for item in parser.end()] == [data]
