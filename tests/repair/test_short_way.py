"""What a look finds, and what goes on at once, must not lose what fixes and machine remember."""

from typing import Any

from llm_normalize.chat.chunks.chunk import Chunk, deltas
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import DONE, Fix, chunk, wire
from llm_normalize.repair.look import Finding
from llm_normalize.wire.json_text import dumps, loads
from llm_normalize.wire.sse import encode
from streams import feed, repaired, without

HI = {"role": "assistant", "content": "Hi"}


def one(**choice: Any) -> Chunk:
    return chunk(None, choices=[choice])


def texts(out: bytes) -> dict[int, str]:
    """Return what each choice says."""
    found: dict[int, str] = {}
    for block in out.split(b"\n\n"):
        if block.startswith(b"data: {"):
            for index, _, delta in deltas(loads(block[6:])):
                found[index] = found.get(index, "") + (delta.get("content") or "")
    return found


def test_so_it_is_where_the_index_is_a_text() -> None:
    data = wire([one(index="1", delta=HI), one(index="1", message=HI), DONE])
    out = repaired(data, fixes=without("choice-index-missing"))
    assert out.count(b'"content":"Hi"') == 1


def test_model_is_named_though_the_first_chunk_could_not_be_read() -> None:
    broken = encode(dumps(chunk(HI, model="own")).replace(b"Hi", b"\xff"))
    asked = Asked(stream=True, is_mapped=True, model="mine")
    more = [chunk({"content": word}, model="own") for word in ("a", "b", "c")]
    out = repaired(broken + wire(more), asked, without("envelope-changing"))
    assert out.count(b'"model":"mine"') == 3


def test_chunk_that_a_repair_left_empty_is_dropped_whatever_its_finish() -> None:
    data = wire([chunk(HI), chunk({"content": None}, finish="")])
    assert repaired(data, fixes=without("finish-empty")) == wire([chunk(HI)])


def test_message_that_differs_from_a_delta_that_passed_as_received_is_sent() -> None:
    class Fails(Fix):
        name = "fails"
        handles = Finding.CONTENT

        def edit(self, chunk: Chunk) -> bool:
            raise RuntimeError

    data = wire([chunk({"content": "Oh"}), one(index=0, message={"content": "Hi"})])
    out = b"".join(feed([data], fixes=[Fails, *FIXES], ended=False))
    assert texts(out) == {0: "OhHi"}
