import json

import pytest

from each_case import each_case
from llm_normalize import conformance
from llm_normalize.chat.chunks.finish_words import FAILED, OWN, finish_word, meaning
from llm_normalize.wire.json_text import Json


@pytest.mark.parametrize(
    "given", [None, "", " ", False, 0, 0.0, [], {}, "null", "None", "undefined", "0"]
)
def test_what_says_nothing_is_no_reason(given: Json) -> None:
    assert meaning(given) == ""


FAILURES = [
    "error", "ERROR", "model_error", "engine_overloaded", "timeout", "timed out", "failed",
    "network_error", "server_error", "MALFORMED_FUNCTION_CALL", "error: busy",
    "function_call_filter: MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OOMKilled",
    "rate_limit_exceeded", "RateLimit", "quota_exceeded", "token_quota_exceeded",
    "RESOURCE_EXHAUSTED", "time_exceeded", "connection-refused", "BadRequest",
    "internal", "Service Unavailable", "unauthorized", "segfault", "cuda_oom", "cancel_error",
    "client disconnected: network", "abnormal_stop", "http_503", "500", "429",
    "function_call_filter", "function_call_filter: X", "tool_call_filter: MALFORMED",
    "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "stop: error 500",
    "STOP: MALFORMED_FUNCTION_CALL", "OTHER: MALFORMED_FUNCTION_CALL", "worker_died",
    "connection lost", "deadline", "unable_to_continue", "empty response", "shutdown", "IMAGE_OTHER", "upstream_closed",
    "peer_reset",
]  # fmt: skip


@pytest.mark.parametrize("given", [*FAILURES, 500, 400, 503.0, {"type": ["error"]}])
def test_what_sounds_like_a_failure_is_no_success(given: Json) -> None:
    assert meaning(given) == FAILED


CUT_SHORT = [
    "abort", "aborted", "cancelled", "canceled", "user_cancelled", "interrupted",
    "preempted", "insufficient_system_resource", "client_abort", "max_steps",
    "token_budget", "output_limit", "maxOutputTokensExceeded", "context_exceeded",
    "response truncated", "exceeded_length", "length: 4096", "too_many_tokens",
    "repetition", "loop_detected", "evicted", "too_many_turns",
]  # fmt: skip


@pytest.mark.parametrize("given", [*CUT_SHORT, ["stop", "length"]])
def test_what_was_cut_short_has_the_reason_length(given: Json) -> None:
    assert meaning(given) == "length"


SENSES = {
    "content_filter: MALFORMED": "content_filter",
    "content_filter: error 500": "content_filter",
    "output_filter": "content_filter",
    "unsafe_content": "content_filter",
    "usage_policy": "content_filter",
    "blocked": "content_filter",
    "LANGUAGE": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "flagged": "content_filter",
    "jailbreak_detected": "content_filter",
    "last_token_is_eos": "stop",
    "requires_action": "tool_calls",
    "policy: violation": "content_filter",
    "stop_sequence: error": "stop",
    "mcp_tool": "tool_calls",
    "function": "tool_calls",
    "T": "stop",
    "stopp": "stop",
    "other": "stop",
    "unknown": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "generated": "stop",
    "default": "stop",
    "skill_done": "stop",
    "hit_stop_token": "stop",
    "7": "stop",
}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *SENSES.items(),
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
def test_a_word_counts_by_its_sense(given: Json, meant: str) -> None:
    assert meaning(given) == meant


@pytest.mark.parametrize("given", [7, 1.5, [7], {"kind": "end"}, [[]]])
def test_what_is_no_word_and_no_failure_ends_the_answer(given: Json) -> None:
    assert meaning(given) == "stop"


@each_case([*FAILURES, *CUT_SHORT, *SENSES])
def test_the_judge_of_meaning_agrees(word: str) -> None:
    before = _ended(word)
    allowed = {own for own in OWN if conformance.lost(before, _ended(own)) == []}
    cut_short = {
        "length",
        "content_filter",
    }  # where a body brings the text all the same
    said = meaning(word)
    assert allowed == (cut_short if said == FAILED else {said})


def _ended(word: str) -> conformance.Meaning:
    call = {"function": {"name": "f", "arguments": "{}"}}
    calls = [call] if meaning(word) in ("tool_calls", "function_call") else []
    message = {"content": "Hi", "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": word}
    return conformance.meaning_of_body(json.dumps({"choices": [choice]}).encode())


def test_the_providers_word_is_reported_as_it_is_but_not_at_any_length() -> None:
    assert finish_word("Engine-Overloaded: 7") == "Engine-Overloaded: 7"
    assert finish_word({"type": "abort"}) == "abort"
    assert len(finish_word("x" * 1000)) == 200
