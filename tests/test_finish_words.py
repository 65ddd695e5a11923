import pytest

from llm_normalize.finish_words import FAILED, OWN, meaning, told
from llm_normalize.jsontext import Json


@pytest.mark.parametrize("word", OWN)
def test_openais_own_words_mean_themselves(word: str) -> None:
    assert meaning(word) == word


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("eos", "stop"),
        ("STOP", "stop"),
        ("Complete", "stop"),
        ("FinishReason.STOP", "stop"),
        ("FINISH_REASON_STOP", "stop"),
        ("eosFound", "stop"),
        ("stop: end of text", "stop"),
        (True, "stop"),
        ({"type": "stop", "matched": 7}, "stop"),
        ({"reason": "length"}, "length"),
        (["stop"], "stop"),
        ("max-tokens", "length"),
        ("MAX TOKENS", "length"),
        ("maxPredictedTokensReached", "length"),
        ("model_context_window_exceeded", "length"),
        ("repetition_truncation", "length"),
        ("tool_use", "tool_calls"),
        ("toolCalls", "tool_calls"),
        ("content_filter: hate", "content_filter"),
        ("sensitive", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
    ],
)
def test_synonyms_mean_openais_word(given: Json, meant: str) -> None:
    assert meaning(given) == meant


@pytest.mark.parametrize(
    "given", [None, "", " ", False, 0, 0.0, [], {}, "null", "None", "undefined", "0"]
)
def test_what_says_nothing_is_no_reason(given: Json) -> None:
    assert meaning(given) == ""


@pytest.mark.parametrize(
    "given",
    [
        "error", "ERROR", "model_error", "engine_overloaded", "timeout", "failed",
        "network_error", "insufficient_system_resource", "abort", "cancelled",
        "server_error", "interrupted", "other", "unknown", "OTHER",
        "FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL",
        "function_call_filter: MALFORMED_FUNCTION_CALL", "error: busy", "T", "stopp",
        7, 1.5, [7], ["stop", "length"], {"kind": "stop"}, {"type": ["stop"]}, [[]],
    ],
)  # fmt: skip
def test_failures_and_words_that_nobody_knows_are_no_success(given: Json) -> None:
    assert meaning(given) == FAILED


def test_the_providers_word_is_told_as_it_is_but_not_at_any_length() -> None:
    assert told("Engine-Overloaded: 7") == "Engine-Overloaded: 7"
    assert told({"type": "abort"}) == "abort"
    assert len(told("x" * 1000)) == 200
