"""What the parser of events finds in bytes, wherever their reads are cut."""

from collections.abc import Sequence

from llm_normalize.wire.sse import Event, EventParser, Gap, Item, Oversized
from streams import cuts

type Found = tuple[bytes, str]
"""The bytes of an item, and what it is."""


def items_of(reads: Sequence[bytes]) -> list[Item]:
    parser = EventParser()
    items = [item for read in reads for item in parser.feed(read)]
    return [*items, *parser.end()]


def folded(items: Sequence[Item]) -> list[Found]:
    """Return what *items* say, wherever the reads were cut."""
    out: list[Found] = []
    for item in items:
        kind = kind_of(item)
        more = kind in ("gap", "large") and bool(out) and out[-1][1] == kind
        if more or (isinstance(item, Gap) and item.joins):
            raw, kind = out.pop()
            out.append((raw + item.raw, kind))
        else:
            out.append((item.raw, kind))
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


def read(data: bytes) -> list[Found]:
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


def value(raw: bytes) -> Found:
    return raw, "value"


def open_value(raw: bytes) -> Found:
    """Return a value that no line end closes."""
    return raw, "value, open"


def lines(raw: bytes) -> Found:
    return raw, "lines"


def open_lines(raw: bytes) -> Found:
    """Return lines that no blank line closes."""
    return raw, "lines, open"


def gap(raw: bytes) -> Found:
    return raw, "gap"


def large(raw: bytes) -> Found:
    return raw, "large"
