"""The judge of the form finds what breaks it."""

import copy
from typing import Any

import pytest

from each_case import each_case
from judge.responses import Event, check_events, check_response
from llm_normalize.protocols.responses import RESPONSES

REQUEST: Any = {"input": "Hi", "tools": [{"type": "custom", "name": "patch"}]}


def delta(finish: Any = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return {"id": "c", "created": 1, "model": "m", "choices": [choice]}


def call(index: int, name: str, arguments: str) -> list[Any]:
    function = {"name": name, "arguments": arguments}
    return [{"index": index, "id": f"call_{index}", "function": function}]


def good() -> list[Event]:
    made = RESPONSES.translate(REQUEST).answer
    chunks = [
        delta(reasoning_content="Hm"),
        delta(content="Low", annotations=[{"url_citation": {"url": "u"}}]),
        delta(refusal="No"),
        delta(tool_calls=call(0, "find", "{}")),
        delta(tool_calls=call(1, "patch", '{"input":"a"}')),
        delta("tool_calls"),
    ]
    events = [event for each in chunks for event in made.chunk(each)]
    return [*events, *made.done()]


NAMES = [name for name, _ in good()]


def test_good_answer_has_the_form() -> None:
    assert check_events(good()) == []
    assert check_response(good()[-1][1]["response"]) == []


@pytest.mark.parametrize("at", range(len(NAMES)), ids=lambda at: f"{at}-{NAMES[at]}")
def test_event_that_is_missing_is_found(at: int) -> None:
    events = good()
    del events[at]
    renumbered = [(n, {**d, "sequence_number": i}) for i, (n, d) in enumerate(events)]
    # Of the two empty beginnings, the second alone would be no beginning.
    assert check_events(renumbered)


@pytest.mark.parametrize("at", range(len(NAMES)), ids=lambda at: f"{at}-{NAMES[at]}")
def test_event_that_is_there_twice_is_found(at: int) -> None:
    events = good()
    events.insert(at, events[at])
    renumbered = [(n, {**d, "sequence_number": i}) for i, (n, d) in enumerate(events)]
    harmless = {"response.in_progress"}
    assert check_events(renumbered) or NAMES[at] in harmless


def places() -> list[tuple[int, str]]:
    return [(at, key) for at, (_, data) in enumerate(good()) for key in data]


@each_case((*place, value) for place in places() for value in (None, "other", -1))
def test_field_that_is_wrong_is_found(at: int, key: str, value: Any) -> None:
    events = good()
    events[at][1][key] = value
    assert check_events(events)


RESPONSE = good()[-1][1]["response"]
FREE = {"user"}  # typed as a text or null: it may be any that the request had


@pytest.mark.parametrize("key", sorted(RESPONSE.keys() - FREE))
def test_field_of_a_response_that_is_missing_or_wrong_is_found(key: str) -> None:
    missing, wrong = dict(RESPONSE), {**RESPONSE, key: object()}
    del missing[key]
    assert check_response(missing)
    assert check_response(wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"status": "done"},
        {"object": "chat.completion"},
        {"error": {"code": "c", "message": "m"}},
        {"status": "failed"},
        {"status": "failed", "error": {"code": None, "message": "m"}},
        {"status": "incomplete"},
        {"status": "incomplete", "incomplete_details": {"reason": "length"}},
        {"text": {}},
        {"usage": {"prompt_tokens": 1}},
        {"usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}},
        {"output": [None]},
        {"output": [{"type": "text"}]},
        {"output": [RESPONSE["output"][0]] * 2},
    ],
)
def test_response_that_is_no_such_thing_is_found(change: dict[str, Any]) -> None:
    assert check_response({**RESPONSE, **change})
    assert check_response(None)


@pytest.mark.parametrize("item", range(4))
@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"status": None},
        {"status": "incomplete"},
        {"status": "ended"},
        {"content": [{"type": "text", "text": ""}], "summary": [None], "name": "",
         "namespace": None},
        {"content": [{"type": "output_text", "text": None}], "summary": [{}],
         "call_id": None},
        {"content": [{"type": "output_text", "text": ""}], "summary": None,
         "arguments": {}, "input": None},
    ],
)  # fmt: skip
def test_item_that_is_wrong_is_found(item: int, change: dict[str, Any]) -> None:
    response = copy.deepcopy(RESPONSE)
    response["output"][item] |= change
    assert check_response(response)


def test_break_off_is_no_end() -> None:
    events = good()[:-1]
    assert check_events(events)
    assert check_events(events, complete=False) == []
