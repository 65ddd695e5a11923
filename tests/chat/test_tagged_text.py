"""The optional repairs: calls and thoughts as text."""

import json

import pytest

from judge.strict import taken
from llm_normalize.chat.chunk import Chunk
from llm_normalize.chat.declared_tools import Tools
from llm_normalize.chat.stream_state import MANY, Asked
from llm_normalize.fixes import EVERY_FIX
from llm_normalize.repair.body import repair_body
from llm_normalize.repair.fix import DONE, Fix, chunk, completion, wire
from llm_normalize.repair.pipeline import Pipeline
from llm_normalize.wire.json_text import dumps
from streams import repaired

ASKED = Asked(stream=True, tools=True, declared=Tools(frozenset({"f", "g"})))
ROLE = chunk({"role": "assistant", "content": ""})
STOP = chunk({}, finish="stop")
F = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
G = "<tool_call><function=g>\n<parameter=b>\n2\n</parameter>\n<parameter=c>\nx y\n</parameter>\n</function></tool_call>"


def answer(text: str, size: int) -> bytes:
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    return wire([ROLE, *(chunk({"content": part}) for part in cut), STOP, DONE])


def said(
    text: str, size: int, asked: Asked = ASKED
) -> tuple[str, str, list[tuple[str, str]], str]:
    """Return text, reasoning, calls and finish reason as a client takes them."""
    out = repaired(answer(text, size), asked, EVERY_FIX)
    assert repaired(out, asked, EVERY_FIX) == out
    choice = taken(out).choices[0]
    calls = [(call.name, call.arguments) for call in choice.calls]
    return choice.text, choice.reasoning, calls, str(choice.finish_reason)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_call_in_a_text_is_a_call(size: int) -> None:
    calls = [("f", '{"a":1}'), ("g", '{"b":2,"c":"x y"}')]
    assert said(F, size) == ("", "", calls[:1], "tool_calls")
    assert said("Let me see. " + F + G, size) == (
        "Let me see. ",
        "",
        calls,
        "tool_calls",
    )


PROSE = [
    "The tag <tool_call> begins it.",
    "<tool_call>{}</tool_call>",
    "<tool_call>no JSON</tool_call> and on",
    '<tool_call>{"name": "h", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "f", "arguments": "x"}</tool_call>',
    "<tool_call>[1]</tool_call>",
    '<tool_call>{"name": "f", "argu',
    "a < b <tool",
    "Say <think> aloud</think>",
    "<thinner>",
    "  ",
]


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_any_other_text_stays(text: str, size: int) -> None:
    assert said(text, size) == (text, "", [], "stop")
    body = dumps(completion({"role": "assistant", "content": text}))
    assert repair_body(body, 200, ASKED, EVERY_FIX).after[0] == body


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_thoughts_before_the_answer_are_reasoning(size: int) -> None:
    assert said("<think>so <b></think>Hi <think>", size) == (
        "Hi <think>",
        "so <b>",
        [],
        "stop",
    )
    assert said("<think>so", size) == ("", "so", [], "stop")
    assert said("<think>so</thi", size) == ("", "so</thi", [], "stop")


def test_what_waits_is_sent_before_the_finish_and_once() -> None:
    data = answer("<tool_call>{", 1000).replace(wire([STOP, DONE]), b"")
    both = data + wire([chunk({"content": "x"}, finish="stop"), DONE])
    out = repaired(both, ASKED, EVERY_FIX)
    assert taken(out).choices[0].text == "<tool_call>{x"


@pytest.mark.parametrize("text", ["<think>so</th", "Hi <tool_call>{"])
def test_what_waits_too_long_is_sent_as_it_came(text: str) -> None:
    pipeline = Pipeline(ASKED, EVERY_FIX)
    out = pipeline.feed(wire([ROLE, chunk({"content": text})]))
    before = pipeline.waiting
    assert before is not None
    out += [*pipeline.release(), *pipeline.feed(wire([STOP, DONE])), *pipeline.end()]
    choice = taken(b"".join(out)).choices[0]
    thought = choice.reasoning and "<think>" + choice.reasoning
    assert thought + choice.text == text


@pytest.mark.parametrize("text", ["<think>so</th", "Hi <tool"])
def test_event_that_passes_as_received_is_not_sent_again(text: str) -> None:
    class Faulty(Fix):
        name = "faulty"

        def edit(self, chunk: Chunk) -> bool:
            if self.seen.n == 1:
                raise RuntimeError
            return False

    data = wire([ROLE, chunk({"content": text}), STOP, DONE])
    assert repaired(data, ASKED, [*EVERY_FIX, Faulty]) == data
    other = chunk({"reasoning_content": "so"}, index=1)
    data = wire([chunk({"content": text}), other, STOP, DONE])
    alone = wire([chunk({"content": text}), STOP, DONE])
    first = taken(repaired(data, ASKED, [*EVERY_FIX, Faulty])).choices[0]
    assert first == taken(repaired(alone, ASKED, EVERY_FIX)).choices[0]


def test_choices_in_which_text_is_looked_for_are_bounded() -> None:
    texts = ["<tool_call>{}</tool_call>", "<think>so</think>"]
    for text in texts:
        events = [chunk({"content": text}, index=at) for at in range(MANY + 2)]
        out = taken(repaired(wire(events), ASKED, EVERY_FIX, ended=False))
        assert out.choices[MANY + 1].text == text


def test_a_body_has_the_call() -> None:
    body = dumps(completion({"role": "assistant", "content": F + G}))
    out = json.loads(repair_body(body, 200, ASKED, EVERY_FIX).after[0])["choices"][0]
    assert [each["function"]["name"] for each in out["message"]["tool_calls"]] == [
        "f",
        "g",
    ]
    assert (out["message"]["content"], out["finish_reason"]) == (None, "tool_calls")
    beside = dumps(completion({"role": "assistant", "content": "So. " + F}))
    out = json.loads(repair_body(beside, 200, ASKED, EVERY_FIX).after[0])["choices"][0]
    assert out["message"]["content"] == "So. "
