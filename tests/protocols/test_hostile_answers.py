"""Answers that want a translator to do much for little."""

from typing import Any

import pytest

from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream
from llm_normalize.protocols.protocol import ClientProtocol
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.wire.limits import MAX_EVENT

ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [], "input": "Hi"}


def _call(index: int, arguments: str, call_id: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    call = {"index": index, "id": call_id, "type": "function", "function": function}
    return chunk({"tool_calls": [call]})


PART = "x" * (MAX_EVENT // 8)
DELTAS: dict[str, dict[str, Any]] = {
    "text": {"content": PART},
    "thought": {"reasoning_content": PART},
    "refusal": {"refusal": PART},
    "arguments": {"tool_calls": [{"index": 0, "function": {"arguments": PART}}]},
    "citation": {"annotations": [{"url_citation": {"url": PART}}]},
}


@pytest.mark.parametrize("kind", DELTAS)
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.name)
def test_answer_that_has_to_be_held_ends_before_it_is_too_long(
    protocol: ClientProtocol, kind: str
) -> None:
    answer = protocol.translate(ASKED).answer
    stream = AnswerStream(answer)
    out = stream(wire([_call(0, '{"a":"', "call_0")]))
    for _ in range(9):
        out = stream(wire([chunk(DELTAS[kind])])) or out
    is_held = protocol is PROTOCOLS[0] or kind not in ("arguments", "citation")
    assert (b"too long" in out) is is_held
    assert answer.held < MAX_EVENT * 5 / 4
    assert not (is_held and stream(DONE))


def test_what_has_been_sent_and_is_not_needed_is_not_held() -> None:
    answer = PROTOCOLS[1].translate(ASKED).answer
    for _ in range(3):
        answer.chunk(chunk({"content": PART}))
        answer.chunk(chunk({"reasoning_content": PART}))
    assert answer.held < MAX_EVENT // 8


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.name)
def test_sign_of_life_does_not_repeat_the_answer(protocol: ClientProtocol) -> None:
    answer = protocol.translate(ASKED).answer
    answer.chunk(chunk({"content": "heron"}))
    answer.chunk(chunk({}, finish="stop"))
    assert "heron" not in str(answer.keep_alive())
