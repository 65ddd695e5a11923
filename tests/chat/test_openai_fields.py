from typing import Any, get_args, get_type_hints

from llm_normalize.chat.chunks.openai_fields import (
    CALL,
    CHOICE,
    FUNCTION,
    MESSAGE,
    TIERS,
    TOP,
    USAGE,
    parts,
)
from llm_normalize.conformance import openai_types as types
from llm_normalize.repair.fix import chunk, completion, head


def test_parts_are_the_top_each_choice_and_its_delta() -> None:
    made = chunk({"content": "Hi"})
    choice = made["choices"][0]
    assert list(parts(made)) == [
        (made, TOP),
        (choice, CHOICE),
        (choice["delta"], MESSAGE),
    ]


def test_parts_of_a_body_are_its_messages() -> None:
    made = completion({"content": "Hi", "tool_calls": [head()]})
    assert [known for _, known in parts(made)] == [
        TOP,
        USAGE,
        CHOICE,
        MESSAGE,
        CALL,
        FUNCTION,
    ]


def test_what_is_no_object_is_no_part() -> None:
    made = {"choices": [{"delta": None}]}
    assert [known for _, known in parts(made)] == [TOP, CHOICE]


def test_fields_and_tiers_are_those_of_openais_types() -> None:
    def fields(*kinds: Any) -> set[str]:
        return {key for kind in kinds for key in get_type_hints(kind)}

    assert fields(types.ChatCompletionChunk, types.ChatCompletion) == TOP
    assert fields(types.Choice, types.ChatCompletionChoice) == CHOICE
    assert fields(types.ChoiceDelta, types.ChatCompletionMessage) == MESSAGE
    calls = (
        types.ChoiceDeltaToolCall,
        types.ChatCompletionMessageFunctionToolCall,
        types.ChatCompletionMessageCustomToolCall,
    )
    assert fields(*calls) == CALL
    assert fields(types.FunctionCall, types.Custom) == FUNCTION
    assert fields(types.CompletionUsage) == USAGE
    tier = get_type_hints(types.ChatCompletionChunk)["service_tier"]
    assert get_args(get_args(tier)[0]) == TIERS
