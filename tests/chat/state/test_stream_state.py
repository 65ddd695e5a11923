from typing import Any

import pytest

from llm_normalize.chat.state.sent_call import SentCall
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.repair.fix import chunk


@pytest.mark.parametrize(
    ("arguments", "whole"),
    [
        ([], False),
        (["{}"], True),
        (["{", "}"], True),
        (['{"a":"', '}"'], False),
        (['{"a":"}', '"}'], True),
        (['{"a":"\\', '""}'], True),
        (['{"a":"\\', '"}"}'], True),
        (['{"a":[{}', "]}"], True),
    ],
)
def test_a_call_is_whole_when_its_object_is_closed(
    arguments: list[str], whole: bool
) -> None:
    call = SentCall("c1", "f")
    for each in arguments:
        call.add(each)
    assert call.is_complete is whole


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ({"function": {"name": "g", "arguments": ""}}, True),
        ({"function": {"name": "f", "arguments": ""}}, False),
        ({"function": {"name": "f", "arguments": '{"b":2}'}}, True),
        ({"id": "c1", "function": {"name": "f", "arguments": '{"a":1}'}}, False),
        ({"id": "c1", "function": {"name": "f", "arguments": '{"b":2}'}}, True),
        ({"function": {"arguments": '{"b":2}'}}, False),
    ],
)
def test_after_a_whole_call_a_name_or_all_arguments_open_another(
    fragment: dict[str, Any], expected: bool
) -> None:
    call = SentCall("c1", "f")
    call.add('{"a":1}')
    assert call.is_another(fragment) is expected


def test_what_is_kept_of_a_stream_is_bounded() -> None:
    seen = Seen()
    for at in range(1500):
        call = {"index": at, "id": "i" * 5000, "function": {"name": "n" * 5000}}
        seen.note(chunk({"tool_calls": [call]}))
        seen.note(chunk({"tool_calls": [call]}, index=at))
    assert len(seen.choices) == 1024
    assert sum(len(each.calls) for each in seen.choices.values()) == 1024
    assert len(str(seen.choice(0).calls[0].id)) < 100


def test_many_short_arguments_are_what_they_say_together() -> None:
    call = SentCall("call_1", "f", room=1000)
    for digit in "0123456789" * 60:
        call.add(digit)
    assert call.arguments == "0123456789" * 60
