"""Streams in their client's protocol: bytes in, bytes out."""

import json
import tracemalloc
from typing import Any

import pytest

from llm_normalize.exchange.stream.native_stream import NativeStream
from llm_normalize.native_fixes import message_events as m
from llm_normalize.native_fixes.native_fix import wire as native_wire
from llm_normalize.native_fixes.response_events import WHOLE
from llm_normalize.protocols import native_readers
from llm_normalize.protocols.calls import CallIds
from llm_normalize.protocols.messages.native.message_reader import MessagesReader
from llm_normalize.protocols.native_reader import NativeAsked
from llm_normalize.protocols.native_readers import native_reader
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.limits import MAX_EVENT
from llm_normalize.wire.sse import EventParser
from proxies import fail

START = m.start()
BLOCK = [m.block("text"), m.delta("text_delta", "Hi"), m.stop()]
END = [m.end(), m.STOP]


def sent(*events: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (each["type"].encode(), json.dumps(each).encode())
        for each in events
    )


def play(*parts: bytes, skipped: str = "") -> tuple[bytes, list[EventRecord]]:
    records = list[EventRecord]()
    reader = MessagesReader(NativeAsked("exchange", "m", skipped=[skipped]))
    stream = NativeStream(reader, records.append, "stream")
    out = [each for part in parts for each in stream.feed(part)]
    return b"".join([*out, *stream.end()]), records


RIGHT = sent(START, {"type": "ping"}, *BLOCK, *END)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_right_stream_leaves_byte_for_byte_however_it_is_cut(ends: bytes) -> None:
    data = RIGHT.replace(b"\n", ends)
    for at in range(0, len(data), 7):
        out, records = play(data[:at], data[at:])
        assert out == data
        assert not any(each.changed for each in records)
    assert play(*(bytes([each]) for each in data))[0] == data


def test_comments_and_newlines_and_unknown_events_pass() -> None:
    data = b"\n" + sent(START) + b"event: odd\ndata: {}\n\n\n" + sent(*BLOCK, *END)
    assert play(data)[0] == data


def test_bug_in_a_pause_sends_no_body_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = MessagesReader(NativeAsked("exchange", "m"))
    stream = NativeStream(reader, lambda _: None, "stream")
    assert stream.feed(b'{"a":') == []
    monkeypatch.setattr(EventParser, "cut", fail)
    assert b"".join(stream.release(last=True)) + stream.rescue() == b'{"a":'


def test_change_is_a_record_with_its_fix() -> None:
    out, records = play(sent(START, *BLOCK[:2], *END) + b"data: [DONE]\n\n")
    assert b"content_block_stop" in out
    assert b"[DONE]" not in out
    fixes = [name for each in records for name in each.fixes]
    assert fixes == ["block-stop-missing", "done-foreign"]


@pytest.mark.parametrize("protocol", ["messages", "responses"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n"])
@pytest.mark.parametrize("name", [b"", b"event: response.created\n"])
def test_type_writes_no_further_lines(protocol: str, end: str, name: bytes) -> None:
    """It is on a line of its own where an event is written anew."""
    said = json.dumps({"type": f"response.x{end}data: [DONE]", "model": "sent"})
    data = b"%bdata: %b\n\n" % (name, said.encode())
    for is_mapped in (False, True):
        asked = {"model": "asked"}
        reader = native_reader(protocol, asked, "x", is_mapped=is_mapped)
        stream = NativeStream(reader, lambda _: None, "stream")
        out = b"".join([*stream.feed(data), *stream.end()])
        assert out.startswith(name + b"data: {")
        assert out.count(b"\n") == data.count(b"\n")
        assert (out == data) is not is_mapped


def test_events_that_differ_in_their_words_alone_count_however_they_are_cut() -> None:
    words = ["Hi", " there", " and\n", ' "so"', " é", "", " on", "text", " \\u0041"]
    deltas = [
        {**BLOCK[1], "delta": {"type": "text_delta", "text": each}} for each in words
    ]
    ending = {**END[0], "usage": None}
    data = sent(START, BLOCK[0], *deltas, BLOCK[2], ending, END[1])
    out, records = play(data)
    assert [name for each in records for name in each.fixes] == [
        "message-usage-missing"
    ]
    said = sum(len(each.encode()) for each in words)
    assert b'"output_tokens":%d' % -(-said * 2 // 7) in out
    assert len(records) < len(deltas) + 4  # most are not parsed
    for size in (1, 2, 3, 7, 50, 1000):
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        assert play(*parts)[0] == out


def test_bug_at_words_that_are_known_costs_the_repair_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reader = MessagesReader(NativeAsked("exchange", "m"))
    stream = NativeStream(reader, lambda _: None, "stream")

    def fail(_: str) -> None:
        raise AssertionError

    reader.more = fail  # type: ignore[method-assign,assignment]
    data = [sent(START, *BLOCK[:2]), sent(BLOCK[1]), sent(BLOCK[1], *END), RIGHT]
    out = [b"".join(stream.feed(each)) for each in data]
    assert out == data
    assert not any(stream.end())
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("protocol", "right"), [("messages", RIGHT), ("responses", native_wire(WHOLE))]
)
def test_request_is_read_only_where_its_tokens_have_to_be_told(
    monkeypatch: pytest.MonkeyPatch, protocol: str, right: bytes
) -> None:
    read = list[Any]()

    def tokens_in(request: dict[str, Any]) -> int:
        read.append(request)
        return 7

    monkeypatch.setattr(native_readers, "tokens_in", tokens_in)
    usage_less = right.replace(b"input_tokens", b"more_tokens")
    for data, times in ((right, 0), (usage_less, 1)):
        request = {"model": "acme-1", "messages": ["Hi"]}
        stream = NativeStream(
            native_reader(protocol, request, "x"), lambda _: None, "x"
        )
        out = b"".join([*stream.feed(data), *stream.end()])
        assert (out == data) is not times
        assert len(read) == times


def item(kind: str, *, ends: bool, **more: Any) -> dict[str, Any]:
    what = "done" if ends else "added"
    return {"type": f"response.output_item.{what}", "item": {"type": kind, **more}}


GROWING: dict[str, dict[str, Any]] = {
    "items": item("message", ends=True, content="x" * 100_000),
    "items of other kinds": item("image_generation_call", ends=True, result="x" * 100_000),
    "parts": {
        "type": "response.content_part.added",
        "part": {"type": "output_text", "text": "x" * 100_000},
    },
    "log probabilities": {
        "type": "response.output_text.delta",
        "delta": "x",
        "logprobs": [{"token": "x" * 100_000}],
    },
    "arguments": {
        "type": "response.function_call_arguments.done",
        "name": "f",
        "arguments": "x" * 100_000,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_what_is_kept_of_a_response_is_bounded(name: str) -> None:
    stream = NativeStream(native_reader("responses", {}, "x"), lambda _: None, "stream")
    tracemalloc.start()
    for at in range(140):
        # Not the same text, of which one would be kept for all.
        stream.feed(sent(GROWING[name]).replace(b"xx", b"%04d" % at, 1))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1.5 * MAX_EVENT


def test_ids_of_calls_that_are_kept_are_bounded() -> None:
    ids = CallIds(())
    tracemalloc.start()
    assert len({ids.take("x" * 100_000 + str(at)) for at in range(140)}) == 140
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1.5 * MAX_EVENT


def stream() -> NativeStream:
    reader = MessagesReader(NativeAsked("exchange", "m"))
    return NativeStream(reader, lambda _: None, "stream")


def test_silence_is_a_ping_once_the_message_has_begun() -> None:
    made = stream()
    made.feed(sent(START))
    assert made.keep_alive() == sent({"type": "ping"}).replace(b'": ', b'":')


def test_stream_ends_in_silence_behind_its_reason_alone() -> None:
    made = stream()
    made.feed(sent(START, *BLOCK))
    assert not made.conclude()
    made.feed(sent(END[0]))
    assert made.conclude()
    assert b"message_stop" in b"".join(made.end())
    assert not made.abandon()


def test_body_over_the_limit_is_not_held() -> None:
    made = stream()
    assert made.feed(b"{") == []
    assert made.holds
    assert b"".join(made.feed(b" " * MAX_EVENT)) == b"{" + b" " * MAX_EVENT
    assert not made.holds


@pytest.mark.parametrize("body", [b'{"type": "message"', b'{"a": 1}', b"{" * 9])
def test_body_that_is_no_answer_is_held_to_the_end(body: bytes) -> None:
    made = stream()
    assert b"".join(made.feed(body)) == b""
    assert b"".join(made.release(silent=True)) == b""
    assert b"".join(made.end()) == body


def test_bug_in_a_reader_costs_the_repair_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError

    made, data = stream(), sent(START, *BLOCK, *END)
    monkeypatch.setattr(MessagesReader, "event", fails)
    assert b"".join([*made.feed(data), *made.end()]) == data
    held = stream()
    held.feed(b'{"type": "mess')
    assert held.rescue() == b'{"type": "mess'
