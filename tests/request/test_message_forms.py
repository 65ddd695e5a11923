"""Forms of messages: what is joined or parted loses nothing."""

from typing import Any

import pytest

from growth import MOST, growth
from llm_normalize.request import message_forms as forms
from llm_normalize.request.refusals.refusal_parser import refusal_of
from llm_normalize.request.tool_schemas import without
from llm_normalize.wire.json_text import dumps

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("empty", [[], None])
def test_calls_of_the_second_message_stay_where_the_first_has_none(empty: Any) -> None:
    first = {"role": "assistant", "content": "Let me see.", "tool_calls": empty}
    second = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    (made,) = forms.with_neighbours_joined([first, second])
    assert made == {**first, "tool_calls": [CALL]}


def test_messages_of_two_users_stay_two() -> None:
    messages = [{"role": "user", "name": name, "content": "Hi"} for name in "ab"]
    assert forms.with_neighbours_joined(messages) == messages


def test_each_result_is_there_once_though_ids_repeat() -> None:
    results = [{"role": "tool", "tool_call_id": "a", "content": text} for text in "xy"]
    calls = {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]}
    made = forms.with_single_calls([calls, *results])
    assert [each["content"] for each in made if each["role"] == "tool"] == ["x", "y"]


PARTS = [{"type": "text", "text": "a"}]


@pytest.mark.parametrize(
    ("contents", "joined"),
    [
        (["a", "b", "c"], "a\n\nb\n\nc"),
        (["a", "", None, "b"], "a\n\nb"),
        (["a", PARTS, "b"], [{"type": "text", "text": each} for each in "aab"]),
        (["", None], None),
        ([None, ""], ""),
    ],
)
def test_content_of_several_messages_is_one(contents: Any, joined: Any) -> None:
    messages = [{"role": "user", "content": each} for each in contents]
    (made,) = forms.with_neighbours_joined(messages)
    assert made == {"role": "user", "content": joined}
    (made,) = forms.with_one_system([{**each, "role": "system"} for each in messages])
    assert made == {"role": "system", "content": joined}


def test_what_only_a_later_message_has_is_kept() -> None:
    first = {"role": "assistant", "content": "a", "reasoning_content": "x"}
    second = {"role": "assistant", "content": "b", "reasoning_content": "y", "id": 1}
    (made,) = forms.with_neighbours_joined(
        [first, second, {**first, "id": 2, "audio": {}}]
    )
    assert made == {
        "role": "assistant",
        "content": "a\n\nb\n\na",
        "reasoning_content": "x\n\ny\n\nx",
        "id": 1,
        "audio": {},
    }


@pytest.mark.parametrize("role", ["user", "system", "assistant", "tool"])
@pytest.mark.parametrize("content", ["word " * 40, PARTS])
@pytest.mark.parametrize(
    "form",
    [
        forms.with_answers_between,
        forms.with_neighbours_joined,
        forms.with_one_system,
        forms.with_own_ids,
        forms.with_short_ids,
        forms.with_single_calls,
        forms.with_system_as_user,
    ],
)
def test_work_grows_with_the_messages_alone(form: Any, role: str, content: Any) -> None:
    def make(times: int) -> list[Any]:
        return [
            {"role": role, "content": content, "tool_call_id": "a", "tool_calls": calls}
            for at in range(times)
            for calls in ([CALL], None)
        ]

    assert growth(make, form, 1000) < MOST


@pytest.mark.parametrize("place", ["additionalProperties", "items", "then", "not"])
def test_keyword_is_dropped_wherever_a_schema_may_be(place: str) -> None:
    schema = {"type": "object", place: {"type": "string", "propertyNames": {}}}
    assert without(schema, "propertyNames") == {
        "type": "object",
        place: {"type": "string"},
    }


def choice_beside_words(times: int) -> Any:
    return {"description": "d" * 8 * times, "anyOf": [{"maxLength": 1}] * times}


def choice_beside_properties(times: int) -> Any:
    names = [f"a{at}" for at in range(times)]
    some = [{"properties": {name: {}}, "required": [name]} for name in names]
    return {"properties": {"b": {}}, "anyOf": some}


def all_required(times: int) -> Any:
    names = [f"a{at}" for at in range(times)]
    return {"properties": {name: {} for name in names}, "required": names}


@pytest.mark.parametrize(
    ("refused", "make"),
    [
        ("alone", choice_beside_words),
        ("alone", choice_beside_properties),
        ("required", all_required),
    ],
)
def test_work_grows_with_the_schema_alone(refused: str, make: Any) -> None:
    assert growth(make, lambda schema: dumps(without(schema, refused)), 400) < MOST


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens: 32000 > 8192 remaining tokens of your daily quota",
        "Your plan allows max_tokens of at most 1024",
        "The sum of prompt tokens and max_tokens must be at most 8192",
        "Request message rejected: your credit balance is empty",
        "Too many consecutive requests from user 123",
        "Internal system error: can not start worker",
        "The system is overloaded, please start over later",
        "This key does not support multiple tool calls; upgrade",
        "Image is not allowed: it violates our content policy",
    ],
)
def test_words_about_money_rights_and_outages_ask_for_no_form(words: str) -> None:
    assert not refusal_of(dumps({"error": {"message": words}})).forms
