"""Which of OpenAI's finish reasons a provider's word means."""

import re

# What providers say instead of OpenAI's reasons; others count by their sense, see `reason_meant`.
SYNONYMS = {
    "stop": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "last_token_is_eos": "stop",
    "end": "stop",
    "end_turn": "stop",
    "normal": "stop",
    "complete": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "requires_action": "tool_calls",
    "function_call": "function_call",
    "content_filter": "content_filter",
    "content_filter_results": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "sensitive": "content_filter",
    "abort": "length",
    "cancelled": "length",
    "insufficient_system_resource": "length",
    "error": "error",
}

# What a word holds that says so, in this order; a failure must not become a success.
_SENSES = {
    "error": "error fail exception overload unavailable malformed invalid crash denied "
    "reject unauthorized quota busy network connection internal unexpected refused timeout "
    "time_out timed_out out_of_memory abnormal insufficient throttl unreachable forbidden "
    "segfault oomkilled http_4 http_5 missing disconnect corrupt unsupported unable cannot "
    "could_not not_found deadline deadlock expired shutdown shut_down shutting_down outage "
    "offline unhealthy degraded unpars function_call_filter function_filter tool_call_filter "
    "tool_filter no_image no_response no_output no_content no_candidate empty_image "
    "empty_response empty_output empty_content empty_candidate upstream image_other",
    "length": "length limit truncat context abort cancel interrupt preempt incomplete "
    "evict repetit loop_detect exceed exhaust too_many",
    "content_filter": "safety moderation policy unsafe prohibit guardrail violat model_armor "
    "jailbreak",
}
_SENSES_OF_PARTS = {
    "error": "fault kill killed panic oom bad rate err lost broke broken dropped died "
    "reset closed",
    "length": "max maximum token tokens",
    "content_filter": "filter filtered sensitive block blocked language flagged",
    "tool_calls": "tool tools function functions",
}


def _fails(detail: str) -> bool:
    return any(each in detail for each in _SENSES["error"].split())


def reason_meant(reason: str) -> str:
    """Return which of OpenAI's reasons *reason* is in other words, or `error`."""
    word = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", reason.strip()).lower()
    word = re.sub(r"[\s_-]+", "_", word)
    head, _, detail = word.partition(":")
    head = re.sub("^finish_?reason[_.]", "", head)
    known = SYNONYMS.get(head)
    # What stands behind `stop` is why; behind `stop_sequence`, a text.
    if known == "stop" and not re.search("stop_|eos", head) and _fails(detail):
        return "error"
    if known:
        return known
    parts = set(re.findall("[a-z]+", word))
    parts -= {"token"} if "stop_token" in word else set()
    room = re.search("token|length|context|step|iteration|turn|output", word)
    is_over = re.search("exceed|exhaust|too_many", word) and not room
    if is_over or re.fullmatch("[4-9][0-9]{2}|[1-9][0-9]{3,}", word):
        return "error"
    for meant in ("error", "length", "content_filter", "tool_calls"):
        held = any(each in word for each in _SENSES.get(meant, "").split())
        if held or parts & set(_SENSES_OF_PARTS[meant].split()):
            return meant
    return "stop"
