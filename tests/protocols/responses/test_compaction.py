"""A summary in the place of a conversation that got too long."""

from typing import Any

import pytest

from judge.responses import check_events
from llm_normalize.protocols import endpoint_at
from llm_normalize.protocols.protocol import Circumstances, UntranslatableError
from llm_normalize.protocols.responses import RESPONSES
from llm_normalize.protocols.responses.compaction import PROMPT
from llm_normalize.protocols.responses.content import packed

PATH = Circumstances(end="/responses/compact")
TOOL = {"type": "function", "name": "find_ferry"}
ASKED = {"role": "user", "content": "The kettle is blue."}
SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Noted."}],
}
TRIGGER = {"type": "compaction_trigger"}
CALL = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
REQUEST: Any = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [ASKED, SAID, TRIGGER],
    "tools": [TOOL],
    "tool_choice": "auto",
    "stream": True,
}


def chunk(content: str | None = None, finish: str | None = None, **more: Any) -> Any:
    return {**said({} if content is None else {"content": content}, finish), **more}


def said(delta: Any, finish: str | None = None) -> Any:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def test_trigger_asks_the_model_for_a_summary_behind_the_same_head() -> None:
    found = RESPONSES.translate(REQUEST).body
    before = RESPONSES.translate({**REQUEST, "input": [ASKED, SAID]}).body
    asked = {"role": "user", "content": PROMPT}
    assert found["messages"] == [*before["messages"], asked]
    assert found["tools"] == before["tools"]
    assert found["tool_choice"] == "none"


def test_summary_is_the_one_item_and_is_read_again() -> None:
    answer = RESPONSES.translate(REQUEST).answer
    events = [
        *answer.chunk(chunk("A blue ")),
        *answer.keep_alive(),
        *answer.chunk(chunk("kettle.")),
        *answer.chunk(chunk(None, "stop")),
        *answer.done(),
    ]
    assert [name.removeprefix("response.") for name, _ in events] == [
        "created", "in_progress", "in_progress", "output_item.added",
        "output_item.done", "completed",
    ]  # fmt: skip
    response = events[-1][1]["response"]
    (item,) = response["output"]
    assert item == events[-2][1]["item"]
    assert item["type"] == "compaction"
    assert item["encrypted_content"] == packed("A blue kettle.")
    assert response["usage"]["total_tokens"] > 0
    back = RESPONSES.translate({**REQUEST, "input": [item, ASKED]}).body["messages"]
    assert back[1]["content"].endswith("\n\nA blue kettle.")
    assert back[2] == ASKED


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk(" ", "stop")],
        [chunk(None, "tool_calls")],
        [chunk("A blue ", "length")],
        [chunk("A blue "), chunk(None, "content_filter")],
        [
            said({"content": "Look."}),
            said({"tool_calls": [CALL]}),
            chunk(None, "tool_calls"),
        ],
        [said({"content": "I look.", "tool_calls": [CALL]}, "stop")],
        [said({"reasoning_content": "Hm"}, "stop")],
    ],
)
def test_no_summary_is_an_error(chunks: list[Any]) -> None:
    answer = RESPONSES.translate(REQUEST).answer
    events = [event for each in chunks for event in answer.chunk(each)]
    events += answer.done()
    name, last = events[-1]
    assert name == "response.failed"
    assert "no summary" in last["response"]["error"]["message"]
    assert check_events(events, complete=True) == []


def test_summary_that_breaks_off_is_none() -> None:
    answer = RESPONSES.translate(REQUEST).answer
    answer.chunk(chunk("A blue "))
    (name, _), *_ = answer.done()[-1:]
    assert name == "response.failed"


def test_path_answers_with_the_words_of_the_user_and_the_summary() -> None:
    endpoint = endpoint_at("/v1/responses/compact?x=1")
    assert endpoint is not None
    assert (endpoint.chat_path, endpoint.own_answer) == ("/v1/chat/completions", None)
    request = {"model": "m", "input": [ASKED, SAID], "instructions": "Be brief."}
    made = RESPONSES.translate(request, PATH)
    assert made.body["messages"][-1]["content"] == PROMPT
    assert "tool_choice" not in made.body
    choice = {"message": {"content": "A blue kettle."}, "finish_reason": "stop"}
    body = made.answer.body({"choices": [choice]})
    assert body["object"] == "response.compaction"
    kept, item = body["output"]
    assert kept == {"type": "message", **ASKED}
    assert item["encrypted_content"] == packed("A blue kettle.")
    assert body["usage"]["input_tokens"] > 0


def test_path_keeps_the_last_words_of_the_user_alone() -> None:
    long = {"role": "user", "content": "x" * 150_000}
    request = {"model": "m", "input": [long, ASKED, long]}
    choice = {"message": {"content": "So far."}, "finish_reason": "stop"}
    body = RESPONSES.translate(request, PATH).answer.body({"choices": [choice]})
    kept = body["output"][:-1]
    assert [each["content"] for each in kept] == [ASKED["content"], long["content"]]
    text = RESPONSES.translate({"model": "m", "input": "Hi"}, PATH)
    assert text.answer.body({"choices": [choice]})["output"][0]["content"] == "Hi"


@pytest.mark.parametrize(
    ("message", "finish"),
    [
        ({"content": ""}, "stop"),
        ({"content": "A blue "}, "length"),
        ({"content": "A blue "}, "content_filter"),
        ({"content": "Let me look.", "tool_calls": [CALL]}, "tool_calls"),
    ],
)
def test_path_says_that_there_is_no_summary(message: Any, finish: str) -> None:
    choice = {"message": message, "finish_reason": finish}
    made = RESPONSES.translate({"model": "m", "input": [ASKED]}, PATH)
    with pytest.raises(UntranslatableError, match="no summary"):
        made.answer.body({"choices": [choice]})
