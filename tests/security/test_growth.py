"""Hostile answers cost as much more as they are longer: none holds the proxy up."""

import json
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest

from growth import MOST, TRIES, growth
from llm_normalize.chat.errors.context_overflow import is_overflow
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.chat.tool_calls.text_parts import Place, Wanted, read
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.fixes.data import DataDoubled
from llm_normalize.records.masking import mask
from llm_normalize.repair.engine.assembled_calls import AssembledCalls
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import calling, chunk, completion, head, rest, wire
from llm_normalize.text.echo import Echo
from llm_normalize.wire.content_encoding import decoder_for
from llm_normalize.wire.json_text import loads
from llm_normalize.wire.sse import Event

READ = 64 * 1024
MIB = 1024 * 1024
ASKED = Asked(stream=True, tools=True, model="m", id="q")

type Make = Callable[[int], bytes]


def through(data: bytes) -> int:
    """Send *data* through a stream's repair; return how much came out."""
    pipeline = Pipeline(ASKED, FIXES)
    size = 0
    for at in range(0, len(data), READ):
        size += sum(map(len, pipeline.feed(data[at : at + READ])))
    return size + sum(map(len, pipeline.end()))


def choices(count: int, **more: Any) -> bytes:
    one = {"delta": {"content": "a"}, "finish_reason": None, **more}
    return wire([chunk(None, choices=[{"index": at, **one} for at in range(count)])])


STREAMS: dict[str, tuple[Make, int]] = {
    "backslashes": (lambda n: b'data: {"a":"' + b"\\" * n + b'"}\n\n', 60_000),
    "quotes": (lambda n: b"data: " + b'"' * n + b"\n\n", 500_000),
    "open brackets": (lambda n: b"data: " + b"[" * n + b"\n\n", 20_000),
    "open objects": (lambda n: b"data: " + b'{"a":' * n + b"\n\n", 8_000),
    "glued objects": (lambda n: b"data: " + b"{}" * n + b"\n\n", 2_000),
    "doubled names": (lambda n: b"data: " * n + b"{}\n\n", 60_000),
    "carriage returns": (lambda n: b"\r" * n, 20_000),
    "events ended by them": (lambda n: b"data: {}\r" * n + b"\n", 1_000),
    "line feeds": (lambda n: b"\n" * n, 20_000),
    "data lines of one event": (lambda n: b"data: {\n" * n + b"\n", 4_000),
    "other lines of one event": (lambda n: b"event: x\n" * n + b"data: {}\n\n", 6_000),
    "comments": (lambda n: b": x\n" * n + b"\n", 10_000),
    "blanks": (lambda n: b"data:" + b" " * n + b"\n\n", 500_000),
    "blanks before a value": (lambda n: b" \t" * n + b"{", 200_000),
    "lines of a value": (lambda n: b"{\n" + b'"a":1,\n' * n, 4_000),
    "values without data": (lambda n: b"{}\n" * n, 1_000),
    "digits": (lambda n: b'data: {"choices":[],"x":' + b"9" * n + b"}\n\n", 500_000),
    "keys": (lambda n: wire([chunk({}, **{f"k{at}": None for at in range(n)})]), 10_000),
    "choices": (choices, 1_000),
    "choices that end": (lambda n: choices(n, finish_reason="stop"), 1_000),
    "one choice many times": (lambda n: choices(n, index=0), 4_000),
    "parts of a content": (lambda n: wire([chunk({"content": [{"type": "text", "text": "a"}] * n})]), 8_000),
    "one call many times": (lambda n: wire([chunk({"tool_calls": [head()] * n})]), 1_000),
    "objects as arguments": (lambda n: wire([calling(head()), calling(rest(0, '{"a":1} ' * n))]), 2_000),
    "brackets as arguments": (lambda n: wire([calling(head()), calling(rest(0, "}{" * n))]), 20_000),
    "ends": (lambda n: b"data: [DONE]\n\n" * n, 4_000),
    "errors": (lambda n: b'data: {"error":{"message":"x"}}\n\n' * n, 1_000),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_work_on_a_stream_grows_with_its_size_alone(name: str) -> None:
    make, size = STREAMS[name]
    assert growth(make, through, size) < MOST


def cost(data: bytes) -> float:
    decoder = decoder_for("")
    assert decoder is not None
    rewriter = Rewriter(Pipeline(ASKED, FIXES), decoder)
    begun = time.thread_time()
    rewriter.read(data)
    return time.thread_time() - begun


@pytest.mark.parametrize("unit", [b"x\n\r\n", b"\r ", b"data:: x\n", b"\n", b"{}"])
def test_a_read_costs_at_most_ten_times_the_usual(unit: bytes) -> None:
    # Others have to wait for one; four times is the most that is met.
    usual, dear = (b"data: x\n\n" * (READ // 9), unit * (READ // len(unit)))
    assert any(cost(dear) < 10 * cost(usual) for _ in range(TRIES))


def body(status: int) -> Callable[[bytes], object]:
    return lambda data: repair_body(data, status, Asked(id="q", model="m"), FIXES)


def dumped(make: Callable[[int], Any]) -> Make:
    return lambda n: json.dumps(make(n)).encode()


M3 = b"]<]minimax[>["
WRITTEN: dict[str, tuple[Make, int]] = {
    "openings": (lambda n: b"<tool_call>{" * n, 4_000),
    "ends in a string": (lambda n: b'<tool_call>{"name":"' + b"</tool_call>" * n, 4_000),
    "calls": (lambda n: b"<tool_calls>" + b"{}" * n + b"</tool_calls>", 8_000),
    "blocks": (lambda n: (b'<minimax:tool_call><invoke name="f">' + b'<parameter name="a">1</parameter>' * n), 2_000),
    "blanks in a header": (lambda n: b"<|channel|>final" + b" " * n, 60_000),
    "headers": (lambda n: b"<|start|>assistant<|message|>" * n, 4_000),
    "open messages": (lambda n: b'<|channel|>commentary to=functions.f<|message|>{"a":"' * n, 1_000),
    "marks": (lambda n: b"<|start|>assistant<|message|>" + b"<|end|>" * n, 8_000),
    "brackets": (lambda n: b"<[" * n, 60_000),
    "tags of MiniMax M3": (lambda n: M3 + b"<tool_call>" + M3 + b'<invoke name="f">' + (M3 + b"<a>") * n, 4_000),
    "tags that end without their token": (lambda n: (M3 + b"<tool_call>" + M3 + b'<invoke name="f">' + (M3 + b"<a>1</a>") * n), 2_000),
    "parameters of DSML": (
        lambda n: (
            b'<|DSML|tool_calls><|DSML|invoke name="f">'
            + b'<|DSML|parameter name="a" string="true">1</|DSML|parameter>' * n
        ),
        2_000,
    ),
    "bars": (lambda n: b"<|DSML|tool_calls><" + b"| " * n, 60_000),
    "lists of Python": (lambda n: b"<|tool_call_start|>[f(a=" + b"[" * n, 60_000),
    "strings of Python": (lambda n: b"<|tool_call_start|>[f(a=[" + b'"x",' * n, 8_000),
    "values of Gemma": (lambda n: b"<start_function_call>call:f{" + b"a:<escape>1<escape>," * n, 2_000),
    "fences": (lambda n: b"```tool_code\nf(a=" + b"```" * n, 20_000),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_work_on_calls_as_text_grows_with_the_text_alone(name: str) -> None:
    wanted = Wanted(Tools(frozenset("f")), thoughts=True)

    def take(data: bytes) -> int:
        parts, at = [], Place()
        for start in range(0, len(data), 1024):
            more, at = read(at, data[start : start + 1024].decode(), wanted)
            parts += more
        return len(parts) + len(read(at, "", wanted, ended=True)[0])

    make, size = WRITTEN[name]
    assert growth(make, take, size) < MOST


BODIES: dict[str, tuple[Make, int, int]] = {
    "calls": (dumped(lambda n: completion({"tool_calls": [head(at, id=f"c{at}") for at in range(n)]})), 500, 200),
    "choices": (dumped(lambda n: completion({}, choices=[{"message": {"content": "a"}}] * n)), 2_000, 200),
    "a stream": (lambda n: wire([chunk({"content": "a"})] * n), 300, 200),
    "details": (dumped(lambda n: {"detail": [{"loc": ["a"], "msg": "x"}] * n}), 2_000, 422),
    "errors in errors": (dumped(lambda n: {"error": {"error": [{"error": {"message": ""}}] * n}}), 2_000, 500),
    "angle brackets": (lambda n: b"<html>" + b"<" * n, 60_000, 502),
    "words": (lambda n: b"expired" + b" limit" * n, 40_000, 500),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_work_on_a_body_grows_with_its_size_alone(name: str) -> None:
    make, size, status = BODIES[name]
    assert growth(make, body(status), size) < MOST


TEXTS: dict[str, tuple[Callable[[int], str], int]] = {
    "quotes": (lambda n: '"input' + "\\" * n, 100_000),
    "names": (lambda n: '"input" ' * n, 20_000),
    "open objects": (lambda n: '{"input":1}' + '{"a":' * n, 20_000),
    "objects": (lambda n: "{}" * n + '{"input":1}' + "x" * 200 * n, 1_500),
    "strings": (lambda n: json.dumps({"a": ['"input": x'] * n}), 4_000),
}


@pytest.mark.parametrize("name", TEXTS)
def test_work_of_masking_grows_with_the_text_alone(name: str) -> None:
    make, size = TEXTS[name]
    assert growth(make, mask, size) < MOST


def test_work_on_an_error_with_many_texts_is_bounded() -> None:
    def make(count: int) -> dict[str, Any]:
        return {f"k{at}": "exceed context " * 100 for at in range(count)}

    def work(error: dict[str, Any]) -> bool:
        return is_overflow(error, 400)

    assert growth(make, work, 100) < 2


WORDS = "lorem4ipsum dolor-sit caf\u00e9-2 \\u0041\n"


@pytest.mark.parametrize("words", ["w%x-ab ", WORDS, "\\u004%x"])
def test_work_on_a_prompt_that_is_compared_grows_with_its_size_alone(
    words: str,
) -> None:
    def make(count: int) -> bytes:
        text = "".join(words % at if "%" in words else words for at in range(count))
        return json.dumps({"messages": [{"role": "user", "content": text}]}).encode()

    def work(body: bytes) -> object:
        return Echo(body).spans("Unsupported parameter: seed")

    assert growth(make, work, 10_000) < MOST


def bomb(coding: str) -> bytes:
    """Return at most one read of bytes that give 24 MiB."""
    if coding == "br":
        packer = brotli.Compressor(lgwin=24)
        parts = [packer.process(b"x" * MIB) for _ in range(24)]
        return b"".join([*parts, packer.finish()])
    gzip = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(gzip.compress(b"x" * MIB) for _ in range(24)) + gzip.flush()


@pytest.mark.parametrize("coding", ["br", "gzip"])
def test_what_one_read_inflates_to_is_bounded(coding: str) -> None:
    decoder = decoder_for(coding)
    assert decoder is not None
    rewriter = Rewriter(Pipeline(ASKED, FIXES), decoder)
    assert sum(map(len, rewriter.read(bomb(coding)[:READ]))) <= 16 * MIB


@pytest.mark.parametrize("page", ["<script>", "<!--"])
def test_work_on_an_error_page_grows_with_its_size_alone(page: str) -> None:
    assert growth(lambda n: b"<html>" + page.encode() * n, body(502), 500) < MOST


@pytest.mark.parametrize("place", [0, None])
def test_work_on_many_calls_of_a_chunk_grows_with_their_number_alone(
    place: int | None,
) -> None:

    def make(count: int) -> dict[str, Any]:
        found = [head(None if place is None else at) for at in range(count)]
        return chunk(
            {"tool_calls": [{**each, "id": f"c{at}"} for at, each in enumerate(found)]}
        )

    work = AssembledCalls(ASKED, Seen()).edit
    assert growth(make, work, 400) < MOST


def test_work_on_doubled_fields_grows_with_their_number_alone() -> None:
    def make(count: int) -> Event:
        event = Event(b"data: id: 1\n" * count + b"\n", 0)
        assert len(event.lines) == count
        return event

    work = DataDoubled(ASKED, Seen()).event
    assert growth(make, work, 10_000) < MOST


@pytest.mark.parametrize(
    ("identity", "named"),
    [(b'[["%s",%d]]', True), (b'"%s%d"', False), (b"0.%s%d", True)],
)
def test_what_is_remembered_of_an_id_is_short(identity: bytes, named: bool) -> None:
    function = {"name": "f", "arguments": "{}"} if named else {"arguments": "{}"}
    pipeline = Pipeline(ASKED, FIXES)
    tracemalloc.start()
    for at in range(12):
        event = wire([calling({"index": at, "id": "ID", "function": function})])
        pipeline.feed(event.replace(b'"ID"', identity % (b"9" * 100_000, at)))
    del event
    remembered, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert remembered < MIB


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
def test_no_event_makes_the_others_much_longer(data: bytes) -> None:
    assert through(data) < 10 * len(data)


@pytest.mark.parametrize(
    "unit", ["[", "{}", "[]", "][", '""', '"[', "\\", '{"a":', '["[[[",']
)
def test_work_of_parsing_grows_with_the_text_alone(unit: str) -> None:
    def work(data: bytes) -> object:
        try:
            return loads(data)
        except (ValueError, RecursionError) as error:
            return error

    assert growth(lambda n: (unit * n).encode(), work, 40_000) < MOST


@pytest.mark.parametrize(
    ("text", "is_deep"),
    [
        ("[" * 200 + "]" * 200, False),
        ("[" * 201 + "]" * 201, True),
        ('{"a":' * 201 + "1" + "}" * 201, True),
        (f'["{"[" * 300}","\\"{"{" * 300}"]', False),
        ("[" + "[]," * 300 + "[]]", False),
    ],
)
def test_brackets_are_counted_outside_of_strings(text: str, is_deep: bool) -> None:
    if is_deep:
        with pytest.raises(RecursionError):
            loads(text.encode())
    else:
        loads(text.encode())
