from typing import Any, get_args, get_type_hints

from llm_normalize.chat.chunks.openai_fields import (
    CALL,
    CHOICE,
    FUNCTION,
    MESSAGE,
    TIERS,
    TOP,
    USAGE,
)
from llm_normalize.conformance import openai_types as types


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
