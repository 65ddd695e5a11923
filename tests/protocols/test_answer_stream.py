"""Repaired bytes of chat in, events of a protocol out."""

from collections.abc import Sequence
from typing import override

import pytest

from llm_normalize.protocols.answer_stream import AnswerStream, error_in
from llm_normalize.protocols.protocol import AnswerTranslator, JsonObject, ServerEvent
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.wire.limits import MAX_EVENT
from llm_normalize.wire.sse import BOM
from proxies import fail

TEXT = wire([chunk({"content": "é"})])
ERROR = b'data: {"error":{"message":"m","type":"t","param":null,"code":7}}\n\n'


class Echo(AnswerTranslator):
    """Names what it is given."""

    @override
    def chunk(self, chunk: JsonObject) -> Sequence[ServerEvent]:
        return [("chunk", chunk["choices"][0]["delta"])]

    @override
    def error(self, error: JsonObject) -> Sequence[ServerEvent]:
        return [("error", error)]

    @override
    def done(self) -> Sequence[ServerEvent]:
        return [("done", {}), ("gone", {})]

    @override
    def keep_alive(self) -> Sequence[ServerEvent]:
        return [("ping", {})]

    @override
    def body(self, completion: JsonObject) -> JsonObject:
        return completion


def event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_each_event_becomes_its_own_wherever_it_is_cut(size: int) -> None:
    stream, data = AnswerStream(Echo()), TEXT + DONE
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    assert b"".join(map(stream, parts)) == (
        event("chunk", '{"content":"é"}') + event("done", "{}") + event("gone", "{}")
    )


def test_event_leaves_with_its_last_byte() -> None:
    stream = AnswerStream(Echo())
    assert stream(TEXT[:-1]) == b""
    assert stream(TEXT[-1:]) == event("chunk", '{"content":"é"}')


def test_event_that_ends_a_part_of_another_is_none_of_its_own() -> None:
    stream = AnswerStream(Echo())
    assert stream(b"data: ") == b""
    assert stream(TEXT) == b""  # its line is no JSON, so no client of chat reads it


def test_byte_order_mark_begins_the_first_event_alone() -> None:
    stream, marked = AnswerStream(Echo()), BOM + TEXT
    assert stream(TEXT) == event("chunk", '{"content":"é"}')
    assert stream(marked) == b""
    assert AnswerStream(Echo())(marked) == event("chunk", '{"content":"é"}')


def test_nothing_follows_the_end() -> None:
    stream = AnswerStream(Echo())
    assert b"done" in stream(DONE)
    assert stream(TEXT) == stream(TEXT + TEXT) == b""


@pytest.mark.parametrize("sign", [b"\n", b": ping\n\n"])
def test_sign_of_life_is_the_protocols(sign: bytes) -> None:
    assert AnswerStream(Echo())(sign) == event("ping", "{}")


def test_sign_of_life_is_a_newline_where_the_protocol_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Echo, "keep_alive", lambda _: [])
    assert AnswerStream(Echo())(b"\n") == b"\n"


@pytest.mark.parametrize(
    "data", [b"{", b"[1]", b'{"x":1}', b'{"error":null}', b'{"choices":null}']
)
def test_what_is_no_chat_is_left_out(data: bytes) -> None:
    stream = AnswerStream(Echo())
    assert stream(b"data: " + data + b"\n\n") == b""
    assert stream(b"event: x\n\n") == b""
    assert stream(TEXT) == event("chunk", '{"content":"é"}')


@pytest.mark.parametrize(
    "more", [b'"id":"x","id":"x",', b'"x":NaN,', b'"x":-Infinity,', b'"x":1e999,']
)
def test_what_only_clients_can_read_is_translated(more: bytes) -> None:
    text = TEXT.replace(b'data: {"id"', b"data: {" + more + b'"id"')
    assert text != TEXT
    assert AnswerStream(Echo())(text) == event("chunk", '{"content":"é"}')


def test_event_that_is_too_large_is_an_error() -> None:
    stream = AnswerStream(Echo())
    out = stream(b'data: {"choices":[' + b" " * MAX_EVENT)
    assert out.startswith(
        b'event: error\ndata: {"message":"An event of the provider is'
    )
    assert stream(b"]}\n\n" + TEXT) == b""


def test_bug_is_an_error_of_the_stream(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Echo, "done", fail)
    stream = AnswerStream(Echo(), "brook")
    out = stream(TEXT + DONE + TEXT)
    assert out.startswith(event("chunk", '{"content":"é"}') + b"event: error\n")
    assert "brook: it cannot be translated, and ends" in caplog.text
    monkeypatch.setattr(Echo, "error", fail)
    stream = AnswerStream(Echo())
    assert stream(TEXT + ERROR) == event("chunk", '{"content":"é"}')
    assert stream(TEXT) == b""


@pytest.mark.parametrize(
    ("given", "message", "kind"),
    [
        ({"error": {"message": "no", "type": "x"}}, "no", "x"),
        ({"error": "no"}, "no", "server_error"),
        ({"error": {"message": "", "type": None}}, "words", "server_error"),
        ({}, "words", "server_error"),
    ],
)
def test_error_has_four_keys(given: JsonObject, message: str, kind: str) -> None:
    expected = {"message": message, "type": kind, "param": None, "code": None}
    assert error_in(given, "words") == expected
