"""Answers that want a translator to do much for little."""

from collections.abc import Callable
from typing import Any

import pytest

from growth import MOST, growth
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream
from llm_normalize.protocols.protocol import AnswerTranslator, ClientProtocol
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.wire.limits import MAX_EVENT

ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [], "input": "Hi"}
_LARGE = 200


def _call(index: int, arguments: str, call_id: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    call = {"index": index, "id": call_id, "type": "function", "function": function}
    return chunk({"tool_calls": [call]})


def calls_that_stay_open(count: int) -> list[dict[str, Any]]:
    return [_call(at, '{"a":', f"call_{at}") for at in range(count)]


def calls_of_one_id(count: int) -> list[dict[str, Any]]:
    return [_call(at, "{}", "call_0") for at in range(count)]


def texts_beside_a_call(count: int) -> list[dict[str, Any]]:
    more = {"tool_calls": [{"index": 0, "function": {"arguments": "x" * _LARGE}}]}
    turn: list[dict[str, Any]] = [{"content": "a"}, {"reasoning_content": "b"}, more]
    return [_call(0, '{"a":"', "call_0"), *(chunk(each) for each in turn * count)]


@pytest.mark.unmeasured
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "make", [calls_that_stay_open, calls_of_one_id, texts_beside_a_call]
)
def test_work_grows_with_the_answer_and_not_with_its_square(
    protocol: ClientProtocol, make: Callable[[int], list[dict[str, Any]]]
) -> None:
    def asked(count: int) -> tuple[AnswerTranslator, list[dict[str, Any]]]:
        return protocol.translate(ASKED).answer, make(count)

    def translate(made: tuple[AnswerTranslator, list[dict[str, Any]]]) -> None:
        answer, chunks = made
        for each in chunks:
            answer.chunk(each)
        answer.done()

    assert growth(asked, translate, 200) < MOST


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
