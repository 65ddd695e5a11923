import pytest

from llm_normalize.wire import limits, sse
from llm_normalize.wire.event_boundary import Boundary, ValueScan
from llm_normalize.wire.sse import BOM, Event, EventParser, Gap, Line, Oversized, encode
from wire.parsed import items_of, large, lines, read, value


def event(raw: bytes, *, closed: bool = True) -> Event:
    return Event(raw, 0, closed)


# -- blocks ------------------------------------------------------------------------


def test_blank_lines_of_one_read_are_one_gap() -> None:
    parser = EventParser()
    assert parser.feed(b"data: 1\r\r") == [Event(b"data: 1\r\r", 0)]
    assert parser.feed(b"\n\n\r\n\r") == [
        Gap(b"\n", joins=True),
        Gap(b"\n\r\n\r", joins=False),
    ]
    assert parser.feed(b"\n") == [Gap(b"\n", joins=True)]


def test_blocks_are_numbered_from_0_and_gaps_are_not() -> None:
    items = items_of([b"\n: c\n\n\ndata: 1\n\ndata: 2"])
    assert [item.n for item in items if isinstance(item, Event)] == [0, 1, 2]


def test_the_last_block_may_be_unterminated() -> None:
    last = items_of([b"data: 1\n\ndata: 2\n"])[-1]
    assert last == Event(b"data: 2\n", 1, closed=False, is_last=True)


def test_an_empty_read_brings_nothing() -> None:
    parser = EventParser()
    parser.feed(b"data: ")
    assert parser.feed(b"") == []
    assert parser.feed(b"1\n\n") == [Event(b"data: 1\n\n", 0)]


@pytest.mark.parametrize("text", [b"x", b"x\r", b"data: x\r", b"[{\n"])
def test_tiny_reads_scan_each_byte_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    scanned = 0
    find_line, find_value = Boundary._block, ValueScan.find

    def line(boundary: Boundary, buffer: bytearray, start: int) -> int:
        nonlocal scanned
        scanned += len(buffer) - start - max(boundary._line, boundary._sought)
        return find_line(boundary, buffer, start)

    def value(scan: ValueScan, data: bytearray, start: int = 0) -> int:
        nonlocal scanned
        scanned += len(data) - start - scan._at
        return find_value(scan, data, start)

    monkeypatch.setattr(Boundary, "_block", line)
    monkeypatch.setattr(ValueScan, "find", value)
    parser = EventParser()
    data = text * 2000
    for at in range(len(data)):
        assert parser.feed(data[at : at + 1]) == []
    assert parser.give_up() == data
    assert scanned < 5 * len(data)


# -- the limit ---------------------------------------------------------------------


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sse, "MAX_EVENT", 20)
    return 20


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [14, 15, 30])
@pytest.mark.usefixtures("limit")
def test_a_value_over_the_limit_ends_with_its_line(end: bytes, size: int) -> None:
    raw, more = b'{"a":"' + b"x" * size + b'"}' + end, b'{"b":1}' + end
    assert read(raw + more * 2) == [large(raw), *[value(more)] * 2]


def test_the_limit_is_8_mib() -> None:
    assert limits.MAX_EVENT == 8 * 1024 * 1024


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_block_over_the_limit_passes_and_the_next_is_read(
    limit: int, end: bytes
) -> None:
    for line in (b"data: " + b"x" * limit + end, (b"data: xxxxxx" + end) * limit):
        raw, more = line + end, b"data: 1" + end * 2
        assert read(raw + more) == [large(raw), lines(more)]
    assert read(b"x" * 3 * limit) == [large(b"x" * 3 * limit)]


@pytest.mark.parametrize("more", range(-3, 4))
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
def test_a_cut_does_not_decide_what_is_over_the_limit(
    limit: int, end: bytes, more: int
) -> None:
    raw = b"data: ".ljust(limit + more - len(end), b"x") + end
    first, *_ = read(raw + b"data: 1\n\n")
    read_up_to = len(raw) - end.endswith(b"\r\n")  # it leaves before its last line feed
    assert first == (large if read_up_to > limit else lines)(raw)


LOOKS_AHEAD = [
    b'data: {"a":1}\n:\ndata: {"b":2}\n',  # the next line shows where it ends
    b'data: {"a":1}\ndata: {"b":2}\ndata: {"c":\ndata: {"d":3}\n',  # it has half a value
    b'{\ndata: {"a":1}\ndata: {"b":"\n\n',  # no value, as a later line shows
]


@pytest.mark.parametrize("data", LOOKS_AHEAD)
def test_what_follows_a_block_does_not_decide_what_is_over_the_limit(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    for limit in range(4, len(data) + 2):
        monkeypatch.setattr(sse, "MAX_EVENT", limit)
        read(data + b"data: 1\n\n")


def test_a_block_over_the_limit_counts_once(limit: int) -> None:
    parser = EventParser()
    for _ in range(5):
        parser.feed(b"x" * limit)
    parser.feed(b"\n\n")
    assert parser.feed(b"data: 1\n\n") == [Event(b"data: 1\n\n", 1)]
    assert parser.count == 2


def test_no_more_than_the_limit_is_kept(limit: int) -> None:
    parser = EventParser()
    for _ in range(10 * limit):
        parser.feed(b"x")
        assert len(parser._buffer) <= limit


# -- one event ---------------------------------------------------------------------


def test_lines_are_split_into_names_and_values() -> None:
    lines = event(b"event: e\nid:7\r\nretry:  9\ndata\n: c\n\n").lines
    assert [(line.name, line.value, line.end) for line in lines] == [
        (b"event", b"e", b"\n"),
        (b"id", b"7", b"\r\n"),
        (b"retry", b" 9", b"\n"),
        (b"data", b"", b"\n"),
        (b"", b"c", b"\n"),
    ]


def test_data_lines_are_joined_by_a_line_feed() -> None:
    assert event(b"data: {\r\nid: 1\ndata:}\rdata\n\n").data == b"{\n}\n"


def test_a_block_without_data_lines_has_no_data() -> None:
    assert event(b"event: e\n: data: x\ndatax: 1\n\n").data is None


def test_the_last_line_of_an_unterminated_block_counts() -> None:
    assert event(b"data: 1\ndata: 2", closed=False).data == b"1\n2"
    assert event(b"data: 1\n", closed=False).lines == [Line(b"data: 1", b"\n")]


def test_an_unterminated_event_encodes_to_its_bytes() -> None:
    assert event(b"data: 1\nid: 2", closed=False).encode() == b"data: 1\nid: 2"


def test_changed_lines_are_encoded() -> None:
    each = event(b"data:1\r\n: c\r\n\r\n")
    each.lines[0].text = b"data: 2"
    del each.lines[1]
    assert each.encode() == b"data: 2\r\n\r\n"


def test_a_block_whose_lines_are_gone_is_a_newline() -> None:
    each = event(BOM + b": c\r\n\r\n")
    each.lines.clear()
    assert each.encode() == b"\n"


def test_a_bom_is_one_at_the_stream_start_only() -> None:
    first, second = (each for each in items_of([(BOM + b"data: 1\n\n") * 2]))
    assert isinstance(first, Event)
    assert isinstance(second, Event)
    assert (first.data, first.bom) == (b"1", True)
    assert (second.data, second.bom) == (None, False)
    assert second.foreign


@pytest.mark.parametrize(
    "raw",
    [
        b"data:x\n\n",
        b"data:  x\n\n",
        b"data: x \n\n",
        b"data: x\t\n\n",
        b'data: {"a": 1} \n\n',
        b'data: {"a": 1}\t\n\n',
        b"data: \n\n",
        b"data: x\r\n\r\n",
        b"data: x\ry\n\n",
        b"data: x\n\r\n",
        b"data: x\ndata: y\n\n",
        b"id: 1\ndata: x\n\n",
        b": data: x\n\n",
        BOM + b"data: x\n\n",
    ],
)
def test_only_openai_framing_has_a_payload(raw: bytes) -> None:
    assert event(raw).payload() is None


def cut_after(*reads: bytes) -> tuple[EventParser, list[bytes]]:
    """Return the parser of *reads*, and the raw bytes of each block, the last one cut."""
    parser = EventParser()
    items = [item for read in reads for item in parser.feed(read)]
    return parser, [item.raw for item in (*items, *parser.cut())]


@pytest.mark.parametrize(
    "raw",
    [
        b'data: {"a": 1}\n',
        b'data: {"a": 1}\r\n',
        b"data: [DONE]\n",
        b'id: 1\ndata: {"a": 1}\nretry: 1\n',
        BOM + b'data: {"a": 1}\n',
    ],
)
def test_an_event_that_lacks_only_its_blank_line_may_be_cut(raw: bytes) -> None:
    parser, found = cut_after(raw)
    assert found == [raw]
    assert not parser.may_end
    before = parser.is_between
    assert parser.feed(b"\n") == [Gap(b"\n", joins=False)]
    # Its blank line might have followed.
    assert [before, parser.is_between] == [False, True]
    assert [x.raw for x in parser.feed(b'data: {"b": 2}\n\n')] == [
        b'data: {"b": 2}\n\n'
    ]


def test_events_that_one_line_end_parts_are_known_by_the_next_after_a_cut() -> None:
    parser, _ = cut_after(b'data: {"a": 1}\n')
    assert parser.may_end == 0
    (event,) = parser.feed(b'data: {"b": 2}\n')
    assert event.raw == b'data: {"b": 2}\n'


def test_an_unterminated_event_has_no_payload() -> None:
    assert event(b"data: x\n", closed=False).payload() is None
    assert event(b"data: x\n\n", closed=False).payload() is None


def test_openai_framing_is_what_encode_writes() -> None:
    raw = encode(b'{"a": 1}')
    assert raw == b'data: {"a": 1}\n\n'
    assert event(raw).payload() == b'{"a": 1}'


FRAMED = (
    b'data: {"a":1}\n\n',
    b"data: [DONE]\n\n",
    b'data: {"a":1} \n\n',
    b'data:{"a":1}\n\n',
    b'data: {"a":\n1}\n\n',
    b'data: {"a":1}\r\n\n',
    b'data: {"a":1}\n',
    b"data: {}\n\n",
    b"data: x\n\n",
    b'id: 1\ndata: {"a":1}\n\n',
    b": c\n\n",
    b"\n\n",
)


@pytest.mark.parametrize("raw", FRAMED)
def test_event_in_usual_framing_is_what_the_parser_finds(raw: bytes) -> None:
    parser, other = EventParser(), EventParser()
    for n in range(2):
        event = parser.framed(raw)
        if event is None:
            assert parser.count == 0
            return
        assert [event] == other.feed(raw)
        assert event.n == n
    assert (parser.count, parser.is_between) == (other.count, other.is_between)


def test_event_beyond_the_limit_is_left_to_the_parser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", len(FRAMED[0]) - 1)
    assert EventParser().framed(FRAMED[0]) is None


@pytest.mark.parametrize(
    "blank", [b"\n\n", b"\n\r", b"\n\r\n", b"\r\r", b"\r\r\n", b"\r\n\n", b"\r\n\r\n"]
)
def test_events_beyond_the_budget_pass_together_whatever_ends_their_lines(
    blank: bytes,
) -> None:
    parser = EventParser()
    parser.budget_left = -1
    data = (b"data: x" + blank) * 3
    found = parser.feed(data + b"data: y")
    assert b"".join(each.raw for each in found) == data
    assert len([each for each in found if isinstance(each, Oversized)]) == 1
    (rest,) = parser.end()
    assert rest.raw == b"data: y"


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_blanks_beyond_the_budget_pass_together(line_end: bytes) -> None:
    parser = EventParser()
    parser.budget_left = -1
    (found,) = parser.feed((b" " + line_end) * 3)
    assert found.raw == (b" " + line_end) * 3


def test_events_beyond_the_budget_pass_also_where_none_has_a_blank_line() -> None:
    parser = EventParser()
    parser.budget_left = -1
    data = b"data:: ping\n" * 3
    found = parser.feed(data + b"data: x\n\n" + data)
    assert {type(each) for each in found} == {Oversized}
