"""Providers' finish reasons: OpenAI's word for each, or a failure.

A table translates known words. Any other word is judged by its sense: if it sounds like a
failure, the fix `finish-error` sends an error with it; if it names a limit, a filter or a
tool, it means that; an unknown word means `stop`.
"""

import re

from ...wire.json_text import Json, dumps
from .chunk import Chunk, choices, index_of

OWN = ("stop", "length", "tool_calls", "content_filter", "function_call")
"""OpenAI's own words."""

CUT_SHORT = ("length", "content_filter")
"""Those of an answer that may end anywhere."""

FAILED = "error"
"""What `meaning` returns for a failure."""

_WORDS = {
    "": "null none undefined false 0",
    "stop": "stop stopped stop_sequence stop_sequences stop_sequence_found stop_token "
    "stop_string stop_string_found stop_str stop_word stop_words stop_phrase word eos "
    "eos_found eos_reached eos_token eos_token_id eot eot_id eom eom_id end ended endoftext "
    "last_token_is_eos end_turn end_of_turn end_of_text end_of_sequence end_of_stream end_of_message "
    "normal normal_stop natural complete completed completion done finish finished "
    "success succeeded ok true load unload",
    "length": "length max_tokens max_output_tokens max_new_tokens max_completion_tokens "
    "max_tokens_reached max_predicted_tokens_reached max_length model_length "
    "length_limit error_limit limit stopped_limit token_limit token_limit_reached "
    "time_limit context_length context_length_reached context_length_exceeded "
    "context_window_exceeded model_context_window_exceeded truncated incomplete "
    "repetition_truncation abort aborted cancelled canceled user_cancelled interrupted "
    "preempted insufficient_system_resource",
    "tool_calls": "tool_calls tool_call tool_use tool tools function_calls requires_action",
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
_ENUM = re.compile("^finish_?reason[_.]")
# Short words count only at the start of a word: `generated`, `default`, `skill`.
_SOUNDS_FAILED = re.compile(
    r"error|fail|exception|overload|unavailable|malformed|invalid|crash|denied|reject"
    r"|unauthori[sz]ed|forbidden|quota|busy|network|connection|internal|unexpected|refused"
    r"|abnormal|insufficient|throttl|unreachable|segfault|time_?(?:d_?)?out|out_of_memory"
    r"|missing|disconnect|corrupt|unsupported|unable|cannot|could_not|not_found|deadl|expired"
    r"|upstream|(?<![a-z])(?:reset|closed)(?![a-z])|image_other"
    r"|shut_?(?:ting_)?down|outage|offline|unhealthy|degraded|unpars|(?:function|tool)_(?:call_)?filter"
    r"|(?<![a-z])(?:(?:no|empty)_(?:image|response|output|content|candidate)|lost|broke|dropp|died)"
    r"|(?<!s)kill|(?<![a-z])(?:fault|panic|oom|(?:err|bad|rate)(?![a-z])|ratelimit)"
    r"|(?:http|status|code)_?[45]\d\d(?!\d)|^0*(?:[4-9]\d\d|[1-9]\d{3,})(?:\.\d*)?$"
)
_HAS_SEQUENCE = re.compile("stop_|word|eo[smt]").search
_OVER = re.compile("exceed|exhaust|too_many")
_ROOM = re.compile("token|length|context|limit|max|output|step|iteration|turn")
_SENSES = (
    (
        re.compile(
            r"(?<![a-z])max|length|limit|truncat|context|incomplete|abort|cancel|interrupt"
            r"|preempt|evict|repetit|loop_detect|exceed|exhaust|too_many|(?<!stop_)(?<!eos_)(?<!eot_)(?<!end_)token"
        ),
        "length",
    ),
    (
        re.compile(
            "(?<![a-z])(?:filter|sensitive|block)|safety|unsafe|moderation|moderated"
            "|policy|policies|prohibit|guardrail|violat|model_armor|(?<![a-z])language"
            r"|(?<![a-z])flagged|jailbreak"
        ),
        "content_filter",
    ),
    (re.compile("(?<![a-z])(?:tool|function)"), "tool_calls"),
)


def meaning(given: Json) -> str:
    """Return OpenAI's word for a finish reason; empty for none, `FAILED` for a failure."""
    if not given:
        return ""
    word = _word(_given_word(given))
    head, _, detail = word.partition(":")
    head = head.strip("_")
    known = _MEANT.get(_ENUM.sub("", head))
    # The name of a stop sequence is followed by the sequence, which may be any text.
    if known == "stop" and not _HAS_SEQUENCE(head) and _SOUNDS_FAILED.search(detail):
        return FAILED
    return _sense(word) if known is None else known


def _sense(word: str) -> str:
    """Return the meaning of a *word* with its detail that is not in the table."""
    is_over = _OVER.search(word) and not _ROOM.search(word)
    if is_over or _SOUNDS_FAILED.search(word):
        return FAILED
    found = (own for sense, own in _SENSES if sense.search(word))
    return next(found, "stop")


def finish_word(given: Json) -> str:
    """Return the provider's word, truncated if long."""
    return str(_given_word(given))[:_LONG]


_LONG = 200


def _given_word(given: Json) -> Json:
    """Return the word in *given*, which may be an object or a list."""
    if isinstance(given, dict):
        return given.get("type") or given.get("reason") or given
    if isinstance(given, list) and len(given) == 1:
        return given[0]
    return given


def _word(given: Json) -> str:
    """Return a word as `_WORDS` spells it, with its detail; JSON if it is not a word."""
    text = dumps(given).decode() if isinstance(given, dict | list) else str(given)
    return _GAPS.sub("_", _HUMP.sub("_", text.strip())).lower()


def finishes(choice: Chunk) -> bool:
    """Tell whether *choice* has a finish reason that is not a word for none."""
    reason = choice.get("finish_reason")
    return isinstance(reason, str) and (reason in OWN or bool(meaning(reason)))


def finished_of(chunk: Chunk) -> set[int]:
    """Return the indexes of the choices that *chunk* finishes."""
    return {
        index_of(choice)
        for choice in choices(chunk)
        if choice.get("finish_reason") and finishes(choice)
    }


def is_bare_finish(chunk: Chunk, finished: set[int]) -> bool:
    """Tell whether *chunk* has nothing but the finish reasons of the choices *finished*."""
    found = choices(chunk)
    filled = [choice for choice in found if choice.get("delta")]
    return not filled and len(finished) == len(found)


def rest_of(choice: Chunk) -> Chunk:
    """Return the fields of *choice* other than its index, delta and reason."""
    frame = ("index", "delta", "finish_reason")
    return {k: v for k, v in choice.items() if k not in frame and v is not None}
