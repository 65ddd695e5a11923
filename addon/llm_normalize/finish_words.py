"""What providers call the end of an answer: OpenAI's word for it, or a failure.

Only words that are known to mean a good end, or a cut, become one of OpenAI's. Any other
may stand for a failure, and no success is made of it: the fix `finish-error` sends an
error with that very word.
"""

import re

from .jsontext import Json

OWN = ("stop", "length", "tool_calls", "content_filter", "function_call")
"""OpenAI's own words."""

FAILED = "error"
"""What `meaning` returns for a failure, and for what nobody knows."""

_WORDS = {
    "": "null none undefined false 0",
    "stop": "stop stopped stop_sequence stop_sequences stop_sequence_found stop_token "
    "stop_string stop_string_found stop_str stop_word stop_words stop_phrase word eos "
    "eos_found eos_reached eos_token eos_token_id eot eot_id eom eom_id end ended endoftext "
    "end_turn end_of_turn end_of_text end_of_sequence end_of_stream end_of_message "
    "normal normal_stop natural complete completed completion done finish finished "
    "success succeeded ok true load unload",
    "length": "length max_tokens max_output_tokens max_new_tokens max_completion_tokens "
    "max_tokens_reached max_predicted_tokens_reached max_length model_length "
    "length_limit error_limit limit stopped_limit token_limit token_limit_reached "
    "time_limit context_length context_length_reached context_length_exceeded "
    "context_window_exceeded model_context_window_exceeded truncated incomplete "
    "repetition_truncation",
    "tool_calls": "tool_calls tool_call tool_use tool tools function_calls",
    "function_call": "function_call",
    "content_filter": "content_filter content_filter_results content_filtered "
    "contentfilter filter filtered safety image_safety recitation image_recitation "
    "blocklist prohibited_content image_prohibited_content spii sensitive error_toxic "
    "refusal guardrail_intervened moderation risk",
}
_MEANT = {each: own for own, words in _WORDS.items() for each in words.split()}
_MEANT[""] = ""
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_GAPS = re.compile(r"[\s_-]+")


def meaning(given: Json) -> str:
    """Return OpenAI's word for a finish reason; empty for none, `FAILED` for a failure."""
    if not given:
        return ""
    return _MEANT.get(_word(_said(given)), FAILED)


def told(given: Json) -> str:
    """Return the provider's word, of a long one the begin."""
    return str(_said(given))[:_LONG]


_LONG = 200


def _said(given: Json) -> Json:
    """Return the word in *given*: it may lie in an object, or in a list."""
    if isinstance(given, dict):
        return given.get("type") or given.get("reason") or given
    if isinstance(given, list) and len(given) == 1:
        return given[0]
    return given


def _word(given: Json) -> str:
    """Return a word as `_WORDS` spells it; an enum's name and a detail are left out."""
    if not isinstance(given, str | bool | int):
        return FAILED
    word = _GAPS.sub("_", _HUMP.sub("_", str(given).partition(":")[0].strip())).lower()
    return re.sub(r"^finish_?reason[_.]", "", word)
