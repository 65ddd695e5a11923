"""No translator of errors can fail: the last resort is a constant in its protocol's form."""

import json
from typing import Any

import pytest

from each_case import each_case
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream, error_in, object_in
from llm_normalize.protocols.protocol import UNTOLD, ClientProtocol
from llm_normalize.repair.fix import chunk, wire
from proxies import fail

MANY = "9" * 5000
ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [], "input": "Hi"}
LAST = {"messages": "error", "responses": "response.failed"}
ERRORS = (
    '{"message":"maximum context length is MANY tokens","code":"context_length_exceeded"}',
    '{"message":"MANY tokens in the messages","code":"context_length_exceeded"}',
    '{"message":"max_tokens is too large: MANY","code":"context_length_exceeded"}',
    '{"message":"x","code":MANY,"type":1MANY}',
    '{"message":"x","code":"MANY","type":"MANY"}',
    '{"message":MANY}',
    '{"message":["MANY",MANY],"code":{"a":MANY},"type":[MANY]}',
    "MANY",
    '"MANY"',
)


def last_event(out: bytes) -> tuple[str, Any]:
    *_, name, data = out.decode().strip().split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def words_in(event: Any) -> str:
    error = event.get("response", event)["error"]
    assert isinstance(error["message"], str)
    return error["message"]


@each_case((each, error) for each in PROTOCOLS for error in ERRORS)
def test_number_of_thousands_of_digits_is_an_error_like_any_other(
    protocol: ClientProtocol, error: str
) -> None:
    body = b'{"error":%b}' % error.replace("MANY", MANY).encode()
    made = protocol.error_body(400, error_in(object_in(body), "words"))
    assert words_in(made) != UNTOLD
    stream = AnswerStream(protocol.translate(ASKED).answer)
    name, event = last_event(stream(b"data: " + body + b"\n\n"))
    assert name == event["type"] == LAST[protocol.name]
    assert words_in(event) != UNTOLD


@pytest.mark.parametrize("has_begun", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.name)
def test_bug_in_an_error_ends_a_stream_as_an_error(
    protocol: ClientProtocol, has_begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = protocol.translate(ASKED).answer
    monkeypatch.setattr(f"{type(answer).__module__}.error_of", fail)
    stream = AnswerStream(answer)
    if has_begun:
        stream(wire([chunk({"content": "a"})]))
    name, event = last_event(stream(b'data: {"error":{"message":"x"}}\n\n'))
    assert name == event["type"] == LAST[protocol.name]
    assert words_in(event) == UNTOLD
    assert stream(wire([chunk({"content": "a"})])) == b""


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.name)
def test_bug_in_an_error_leaves_a_body_its_form(
    protocol: ClientProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = protocol.error_body(500, error_in({}, "words"))
    monkeypatch.setattr(type(protocol), "_error_body", fail)
    made = protocol.error_body(500, error_in({}, "words"))
    assert words_in(made) == UNTOLD
    assert made.keys() == good.keys()
    assert made["error"].keys() == good["error"].keys()
