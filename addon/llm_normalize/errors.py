"""Errors in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`."""

import html
import re
from http import HTTPStatus

from .chunk import Chunk
from .jsontext import Json, dumps

_LONG = 2000
_PAGE = re.compile(
    r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^<>]*>", re.DOTALL | re.IGNORECASE
)

KEYS = ("message", "type", "param", "code")

_KINDS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_STATUS = ("code", "status", "status_code", "statusCode", "type")
# What types and messages say, the surest first.
_TOLD: tuple[tuple[int, str], ...] = (
    (429, "rate.?limit|too.?many.?requests|throttl|limit (?:reached|exceeded)"),
    (402, "insufficient.?(?:balance|credit|fund)|no credits|payment.?required"),
    (429, "quota"),
    (401, "authenti|unauthori[sz]ed|api.?key|token.?invalid|log ?in fail"),
    (403, "permission|forbidden|access.?denied"),
    (404, "not.?found|does not exist|no such model"),
    (503, "overloaded|unavailable|capacity|busy"),
    (504, "time.?out|timed out"),
    (400, "invalid|bad.?request|unsupported|validation|context.?length|too long"),
)
# https://platform.minimax.io/docs/api-reference/errorcode
_OWN_CODES = {
    1001: 504, 1002: 429, 1004: 401, 1008: 402, 1026: 400, 1027: 400, 1039: 429,
    1041: 429, 1042: 400, 2013: 400, 2045: 429, 2049: 401, 2056: 429,
}  # fmt: skip
_WORDS = ("title", "message", "error", "detail", "error_message", "msg", "error_msg")
_MORE = (
    "errors", "error_description", "reason", "base_resp", "Message", "Error", "fault",
    "Response", "ResponseMetadata", "details", "issues",
)  # fmt: skip
_ALL = (
    "message", "msg", "detail", "errors", "title", "error", "status_msg", "Message",
    "Error", "faultstring", "description",
)  # fmt: skip


def wrapped(message: str, kind: str, param: str | None, code: str | None) -> Chunk:
    """Return an error body with OpenAI's four keys."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def message_of(body: Chunk, status: int) -> str:
    """Return the words of a flat error *body*, with the request's id if it has one."""
    words = [text for key in _WORDS + _MORE if (text := words_of(body.get(key)))]
    request = text_of(body.get("requestId") or body.get("request_id"))
    known = {"status", "code", "type", "requestId", "request_id"}
    if not words and body.keys() - known:  # the provider's words, wherever they are
        words = [dumps(body).decode()]
    message = ": ".join(dict.fromkeys(words)) or phrase(status)
    return f"{message} (request {request})" if request else message


def words_of(value: Json) -> str | None:
    """Return what an error or a list of errors says in words; None if nothing.

    Of FastAPI's list that is each `msg` with its place; what it echoes is left out.
    """
    if isinstance(value, list):
        told = [text for each in value if (text := words_of(each))]
        return "; ".join(told) or None
    if isinstance(value, dict):
        found = (text for key in _ALL if (text := words_of(value.get(key))))
        words = next(found, None)
        place = value.get("loc")
        if words and isinstance(place, list) and place:
            return f"{'.'.join(map(str, place))}: {words}"
        return words or text_of(value)
    return text_of(value)


def code_of(body: Chunk) -> Json:
    """Return the code that a flat error *body*, or its first error, tells."""
    errors, status = body.get("errors"), body.get("base_resp")
    parts = [body, status, *(errors if isinstance(errors, list) else ())]
    codes = [
        part.get(key)
        for part in parts
        if isinstance(part, dict)
        for key in ("code", "status_code", "error_code")
    ]
    return next((code for code in codes if code), None)


def text_of(value: Json) -> str | None:
    """Return *value* as text, JSON where it has parts; None where it says nothing."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return None
    return value if isinstance(value, str) else dumps(value).decode()


def words_of_page(text: str) -> str:
    """Return what a web page says, on one line."""
    seen = _PAGE.sub(" ", text)
    return " ".join(html.unescape(seen).split())[:_LONG]


def phrase(status: int) -> str:
    """Return what HTTP calls *status*."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP status {status}"


def kind_of(status: int) -> str:
    """Return the type that OpenAI's API gives errors of this *status*."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error"
    return _KINDS.get(status, "invalid_request_error")


def status_of(body: Chunk) -> int:
    """Return the HTTP status that an error *body* tells, by number or by word."""
    own = body.get("base_resp")
    code = own.get("status_code") if isinstance(own, dict) else None
    if isinstance(code, int) and code in _OWN_CODES:
        return _OWN_CODES[code]
    parts = [each for each in (body.get("error"), body, own) if isinstance(each, dict)]
    told = [part.get(key) for part in parts for key in _STATUS]
    for each in told:
        text = str(each)
        if text in _NUMBERS:
            return int(text)
    message = message_of(body, HTTPStatus.INTERNAL_SERVER_ERROR)
    for words in (" ".join(map(str, told)), message):
        for status, known in _TOLD:
            if re.search(known, words, re.IGNORECASE):
                return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


_NUMBERS = {
    str(int(status)) for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST
}
