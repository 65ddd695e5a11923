"""The `response` object around the output, and the parts of it that chat says otherwise."""

from ...wire.json_text import Json, as_list, as_object, as_string, whole_number
from ..protocol import UNTOLD, JsonObject
from ..token_count import Counts

_ECHOED: JsonObject = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "metadata": {},
    "user": None,
}
"""What says what the request said, with what OpenAI says if that said nothing."""
_FAILED, _BUSY, _WRONG = "server_error", "rate_limit_exceeded", "invalid_prompt"
LAST_RESORT: JsonObject = {
    "message": UNTOLD,
    "type": _FAILED,
    "param": None,
    "code": None,
}
"""The error that is sent if another cannot be written."""
_NO_WORDS = "The provider sent an error without words."
_MEANT = {
    "429": _BUSY,
    "rate_limit_error": _BUSY,
    "rate_limit_exceeded": _BUSY,
    **dict.fromkeys(("400", "413", "422", "invalid_request_error"), _WRONG),
}
"""What a code that is an HTTP status means, or the type of an error without a code."""


def frame_of(request: JsonObject) -> JsonObject:
    """Return the fields of `response` that a *request* settles."""
    echoed = {
        key: default if request.get(key) is None else request[key]
        for key, default in _ECHOED.items()
    }
    reasoning, text = (
        as_object(request.get("reasoning")),
        as_object(request.get("text")),
    )
    return {
        **echoed,
        "tools": [_tool(each) for each in as_list(request.get("tools"))],
        "reasoning": {"effort": None, "summary": None, **reasoning},
        "text": {"format": {"type": "text"}, **_given(text)},
        "background": False,
        "previous_response_id": None,
        "service_tier": "default",
        "store": False,
        "truncation": "disabled",
        "completed_at": None,
    }


def _tool(tool: Json) -> Json:
    """Return a tool with what typed clients want of a function."""
    if as_object(tool).get("type") != "function":
        return tool
    return {"description": None, "parameters": None, "strict": None, **tool}


def usage_of(counts: Counts) -> JsonObject:
    """Return figures by the names of Responses."""
    return {
        "input_tokens": counts.prompt,
        "input_tokens_details": {
            "cached_tokens": counts.cached,
            "cache_write_tokens": counts.written,
        },
        "output_tokens": counts.completion,
        "output_tokens_details": {"reasoning_tokens": counts.thought},
        "total_tokens": counts.total,
    }


def error_of(error: JsonObject) -> JsonObject:
    """Return the `error` of a response that failed.

    A code that says something stays: agents shorten, wait or give up by it.
    """
    code, kind = error.get("code"), error.get("type")
    if not isinstance(code, str) or not code or code.isdigit():
        code = _MEANT.get(str(code)) or _MEANT.get(str(kind), _FAILED)
    words = as_string(error.get("message")) or as_string(kind)
    return {"code": code, "message": words or _NO_WORDS}


def logprobs_of(given: Json) -> list[JsonObject]:
    """Return chat's log probabilities of text as Responses has them."""
    entries = as_list(as_object(given).get("content"))
    return [
        {**_token(each), "top_logprobs": [*map(_token, as_list(each["top_logprobs"]))]}
        for each in entries
        if isinstance(each, dict) and "top_logprobs" in each
    ]


def _token(entry: JsonObject) -> JsonObject:
    return {
        "token": entry.get("token"),
        "logprob": entry.get("logprob"),
        "bytes": entry.get("bytes") or [],
    }


def annotations_of(given: Json) -> list[JsonObject]:
    """Return chat's citations as Responses has them."""
    found = (as_object(as_object(each).get("url_citation")) for each in as_list(given))
    return [
        {
            "type": "url_citation",
            "url": each["url"],
            "title": each.get("title") or "",
            "start_index": whole_number(each.get("start_index")) or 0,
            "end_index": whole_number(each.get("end_index")) or 0,
        }
        for each in found
        if isinstance(each.get("url"), str)
    ]


def _given(value: JsonObject) -> JsonObject:
    return {key: each for key, each in value.items() if each is not None}
