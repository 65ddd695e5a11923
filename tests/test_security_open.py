"""What does not hold yet. Each of these fails, and is to; mended, it belongs elsewhere.

`strict`: one that begins to pass fails here until its mark is gone.
"""

import zlib
from typing import Any

import brotli
import pytest

from growth import MOST, growth
from llm_normalize.decoding import decoder_for
from llm_normalize.fix import Fix, chunk, head, rest, wire
from llm_normalize.fixes import FIXES
from llm_normalize.fixes.data_doubled import DataDoubled
from llm_normalize.fixes.tool_call_index_missing import ToolCallIndexMissing
from llm_normalize.fixes.tool_call_index_wrong import ToolCallIndexWrong
from llm_normalize.pipeline import Pipeline
from llm_normalize.sse import Event
from llm_normalize.stream import Rewriter
from llm_normalize.stream_state import Seen
from test_security_growth import ASKED, READ, body, through

MIB = 1024 * 1024


def is_open(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)


def bomb(coding: str) -> bytes:
    """Return at most one read of bytes that give 24 MiB."""
    if coding == "br":
        packer = brotli.Compressor(lgwin=24)
        parts = [packer.process(b"x" * MIB) for _ in range(24)]
        return b"".join([*parts, packer.finish()])
    gzip = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(gzip.compress(b"x" * MIB) for _ in range(24)) + gzip.flush()


@pytest.mark.parametrize(
    "coding",
    [
        pytest.param("br", marks=is_open("26 bytes of brotli become any size at once")),
        pytest.param(
            "gzip", marks=is_open("a read of gzip becomes a thousand times as much")
        ),
    ],
)
def test_what_one_read_inflates_to_is_bounded(coding: str) -> None:
    decoder = decoder_for(coding)
    assert decoder is not None
    rewriter = Rewriter(Pipeline(ASKED, FIXES), decoder)
    assert sum(map(len, rewriter(bomb(coding)[:READ]))) <= 16 * MIB


@pytest.mark.parametrize("page", ["<script>", "<!--"])
@is_open("a page's scripts and comments without an end are looked for again and again")
def test_work_on_an_error_page_grows_with_its_size_alone(page: str) -> None:
    assert (
        growth(lambda n: b"<html>" + page.encode() * n, body(502), 500, tries=1) < MOST
    )


@pytest.mark.parametrize("fix", [ToolCallIndexWrong, ToolCallIndexMissing])
@is_open("each call of a chunk is compared with all before it")
def test_work_on_many_calls_of_a_chunk_grows_with_their_number_alone(
    fix: type[Fix],
) -> None:
    place = 0 if fix is ToolCallIndexWrong else None

    def make(count: int) -> dict[str, Any]:
        found = [head(None if place is None else at) for at in range(count)]
        return chunk(
            {"tool_calls": [{**each, "id": f"c{at}"} for at, each in enumerate(found)]}
        )

    work = fix(ASKED, Seen()).edit
    assert growth(make, work, 400, tries=1) < MOST


@is_open("data-doubled takes each line out of the list's beginning")
def test_work_on_doubled_fields_grows_with_their_number_alone() -> None:
    def make(count: int) -> Event:
        event = Event(b"data: id: 1\n" * count + b"\n", 0)
        assert len(event.lines) == count
        return event

    work = DataDoubled(ASKED, Seen()).event
    assert growth(make, work, 10_000, tries=1) < MOST


LONG = "i" * 20_000


@pytest.mark.parametrize(
    "data",
    [
        wire([chunk({}, id=LONG), *[chunk({"content": "a"}, id="b")] * 50]),
        wire(
            [chunk({"tool_calls": [head(), *[rest()] * 200]}, system_fingerprint=LONG)]
        ),
    ],
    ids=["later chunks", "parts of one chunk"],
)
@is_open("the envelope, however long, is written again with each event that is made")
def test_no_event_makes_the_others_much_longer(data: bytes) -> None:
    assert through(data) < 10 * len(data)
