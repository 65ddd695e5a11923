"""Streams in their client's protocol: bytes in, bytes out."""

import json
from typing import Any

import pytest

from llm_normalize.protocols.messages.native import MessagesReader
from llm_normalize.protocols.native import NativeAsked
from llm_normalize.repair.engine.native_stream import NativeStream
from llm_normalize.repair.outcome import EventRecord

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 1},
    },
}  # fmt: skip
BLOCK: list[dict[str, Any]] = [
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hi"},
    },
    {"type": "content_block_stop", "index": 0},
]
END: list[dict[str, Any]] = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
]


def sent(*events: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (each["type"].encode(), json.dumps(each).encode())
        for each in events
    )


def play(*parts: bytes) -> tuple[bytes, list[EventRecord]]:
    records = list[EventRecord]()
    reader = MessagesReader(NativeAsked("exchange", "m"))
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


def test_change_is_a_record_with_its_fix() -> None:
    out, records = play(sent(START, *BLOCK[:2], *END) + b"data: [DONE]\n\n")
    assert (
        out == sent(START, *BLOCK, *END).replace(b'", "', b'", "')
        or b"content_block_stop" in out
    )
    assert b"[DONE]" not in out
    fixes = [name for each in records for name in each.fixes]
    assert fixes == ["block-stop-missing", "done-foreign"]


def test_event_without_a_name_gets_it() -> None:
    nameless = RIGHT.replace(b"event: message_stop\n", b"")
    assert json.loads(play(nameless)[0].split(b"data: ")[-1]) == END[1]
    assert b"event: message_stop\n" in play(nameless)[0]


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
