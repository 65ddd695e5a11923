"""Errors in Anthropic's form, in the words that its clients know."""

import re
from http import HTTPStatus

from ...wire.json_text import Json, as_object, dumps
from ..protocol import UNTOLD, JsonObject

THREAD_NOT_FOUND = "thread_not_found"
"""The code by which an SDK knows that it has to send a whole conversation."""

_INVALID = "invalid_request_error"
_OVERLOADED = 529  # Anthropic's own
_KINDS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.PAYMENT_REQUIRED: "billing_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.REQUEST_TIMEOUT: "timeout_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded_error",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout_error",
    _OVERLOADED: "overloaded_error",
}
_NO_STATUS = "api_error"
_OWN = {_INVALID, _NO_STATUS, "conflict_error", *_KINDS.values()}
"""The types that Anthropic has."""
LAST_RESORT: JsonObject = {
    "type": "error",
    "error": {"type": _NO_STATUS, "message": UNTOLD},
}
"""The error that is sent if another cannot be written."""
# What the types and codes of providers hold, the surest first.
_WORDS = (
    (re.compile(r"overload|unavailable|capacity|busy"), "overloaded_error"),
    (re.compile(r"rate.?limit|too.?many|throttl|^(?:tokens|requests)\b"), "rate_limit_error"),
    (re.compile(r"quota|billing|balance|credit|payment"), "billing_error"),
    (re.compile(r"authenti|unauthori[sz]ed|api.?key"), "authentication_error"),
    (re.compile(r"permission|forbidden|denied"), "permission_error"),
    (re.compile(r"not.?found"), "not_found_error"),
    (re.compile(r"too.?large"), "request_too_large"),
    (re.compile(r"time.?out"), "timeout_error"),
    (re.compile(r"invalid|bad.?request|unsupported|unprocessable"), _INVALID),
)  # fmt: skip
_TOO_LONG = "context_length_exceeded"
_SAYS_TOO_LONG = "prompt is too long"
_FIGURE = r"(?<!\d)(\d{1,15})(?!\d)"  # tried once for each, however long it is
_LIMIT = re.compile(
    rf"(?:context (?:length|window|size|limit)|must be <=|max_model_len)\D{{0,24}}{_FIGURE}",
    re.IGNORECASE,
)
_INPUT = re.compile(
    rf"{_FIGURE} (?:input tokens|`?inputs`? tokens|tokens from the input|(?:tokens )?in (?:the|your) (?:messages|prompt|input))",
    re.IGNORECASE,
)  # fmt: skip
_OUTPUT = re.compile(
    rf"{_FIGURE} (?:tokens for the completion|(?:tokens )?(?:in|for) (?:the|your) (?:completion|output)|`?max_new_tokens`?)"
    rf"|max_(?:completion_)?tokens\W{{1,3}}(?:is )?too large: {_FIGURE}",
    re.IGNORECASE,
)  # fmt: skip
_TOTAL = re.compile(
    rf"requested (?:about |a total of )?{_FIGURE} tokens", re.IGNORECASE
)
_LONG = 4000  # characters that are looked at


def is_error(value: Json) -> bool:
    """Tell whether *value* is the body of an error, or its event, as Anthropic sends it."""
    found = as_object(value)
    error = as_object(found.get("error"))
    is_text = all(isinstance(error.get(key), str) for key in ("type", "message"))
    is_chats = "code" in error or "param" in error
    is_known = error.get("type") in _OWN
    return found.get("type") == "error" and is_text and is_known and not is_chats


def says_too_long(error: JsonObject) -> bool:
    """Tell whether an error has the words by which Claude Code knows that it has to shorten."""
    return _SAYS_TOO_LONG in str(error.get("message")).lower()


def error_body(status: int, error: JsonObject) -> JsonObject:
    """Return the body of an HTTP error.

    Args:
        status: The HTTP status.
        error: OpenAI's `message`, `type`, `param` and `code`.
    """
    return {"type": "error", "error": error_of(status, error)}


def error_of(status: int | None, error: JsonObject) -> JsonObject:
    """Return Anthropic's type and message.

    Args:
        status: The HTTP status; None of an error in mid-stream, which has none.
        error: OpenAI's `message`, `type`, `param` and `code`.
    """
    given = error.get("message")
    words = given if given and isinstance(given, str) else dumps(error).decode()
    if error.get("code") == _TOO_LONG:
        return {"type": _INVALID, "message": _too_long(words)}
    found: JsonObject = {"type": _kind(status, error), "message": words}
    if error.get("code") == THREAD_NOT_FOUND:
        found["details"] = {"error_code": THREAD_NOT_FOUND}
    return found


def _kind(status: int | None, error: JsonObject) -> str:
    said = [str(error.get(key) or "").lower() for key in ("type", "code")]
    if status is None:
        status = next((int(each) for each in said if _is_status(each)), None)
    if status is not None and status >= HTTPStatus.BAD_REQUEST:
        is_theirs = status >= HTTPStatus.INTERNAL_SERVER_ERROR
        return _KINDS.get(status) or (_NO_STATUS if is_theirs else _INVALID)
    found = (kind for known, kind in _WORDS if known.search(" ".join(said)))
    return next(found, _NO_STATUS)


def _is_status(text: str) -> bool:
    return bool(re.fullmatch("[45][0-9][0-9]", text))


def _too_long(words: str) -> str:
    """Return *words* behind those by which Claude Code knows that it has to shorten.

    A prompt that would fit with less room for the answer has other ones: there, it asks
    for less, which no shorter conversation would do. It retries by the one before it
    shortens by the other, so both can stand together.
    """
    more = [] if says_too_long({"message": words}) else [f"{_SAYS_TOO_LONG}: "]
    answer, limit = _number(_OUTPUT, words), _number(_LIMIT, words)
    prompt = _number(_INPUT, words) or _number(_TOTAL, words) - answer
    if answer and 0 < prompt < limit < prompt + answer:
        sums = f"{prompt} + {answer} > {limit}"
        more.append(f"input length and `max_tokens` exceed context limit: {sums}; ")
    return "".join([*more, words])


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text[:_LONG])
    return int(next(filter(None, found.groups()))) if found else 0
