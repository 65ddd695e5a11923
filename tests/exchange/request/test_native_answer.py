"""Answers in their client's own protocol: what is remembered of them, and their errors."""

import json
import tracemalloc
from typing import Any

import pytest

from llm_normalize.chat.state.asked import Asked
from llm_normalize.exchange.request.native_answer import AnswerIds, NativeAnswer
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import ClientProtocol
from llm_normalize.protocols.responses import RESPONSES

TOO_LONG = "This model's maximum context length is 8192 tokens, but 9000 are in it."
NESTED = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": TOO_LONG},
}
FLAT = {"type": "error", "code": "400", "message": TOO_LONG, "param": None}
CODED = {"code": "server_error", "message": TOO_LONG}
FAILED = {"type": "response.failed", "response": {"status": "failed", "error": CODED}}
TOLD = {
    "messages": f'"prompt is too long: {TOO_LONG}"',
    "responses": '"code":"context_length_exceeded"',
}
"""By what agents know that they have to shorten the conversation."""


def test_ids_take_the_same_room_whatever_a_provider_sends() -> None:
    ids = AnswerIds()
    tracemalloc.start()
    try:
        assert all(ids.is_new(b"client", b"talk", f"{n:0100000}") for n in range(100))
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()
    assert not ids.is_new(b"client", b"another talk", f"{7:0100000}")
    assert ids.is_new(b"another client", b"another talk", f"{7:0100000}")


def answer(protocol: ClientProtocol) -> NativeAnswer:
    return NativeAnswer(protocol, b"{}", "exchange", (), Asked())


def streamed(protocol: ClientProtocol, event: dict[str, Any]) -> str:
    stream = answer(protocol).stream(lambda _: None, "stream")
    name = event.get("type", "error").encode()
    sent = stream.feed(b"event: %b\ndata: %b\n\n" % (name, _data(event)))
    return b"".join(sent).decode()


def _data(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()


@pytest.mark.parametrize(
    ("protocol", "event"),
    [
        (MESSAGES, NESTED),
        (MESSAGES, FLAT),
        (MESSAGES, {"error": {"message": TOO_LONG}}),
        (RESPONSES, NESTED),
        (RESPONSES, FLAT),
        (RESPONSES, {"error": {"message": TOO_LONG}}),
        (RESPONSES, FAILED),
    ],
)
def test_error_in_a_stream_says_that_the_request_is_too_long(
    protocol: ClientProtocol, event: dict[str, Any]
) -> None:
    assert TOLD[protocol.name] in streamed(protocol, event)


@pytest.mark.parametrize("words", ["prompt is too long: 9 tokens > 8 maximum", "Busy"])
def test_error_that_has_its_protocol_s_words_stays(words: str) -> None:
    value = {"type": "error", "error": {"type": "api_error", "message": words}}
    assert json.dumps(value) in streamed(MESSAGES, value)
    assert answer(MESSAGES).body(_data(value), 400, Asked(), ()).after == [_data(value)]


def test_error_of_anthropic_s_form_has_its_words_where_it_is_too_long() -> None:
    record = answer(MESSAGES).body(_data(NESTED), 400, Asked(), ())
    assert TOLD["messages"] in record.after[0].decode()
    assert record.fixes == ["message-error-foreign"]
