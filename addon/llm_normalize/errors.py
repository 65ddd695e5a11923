"""Errors in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`."""

import html
import re
from http import HTTPStatus

from .chunk import Chunk, Json, dumps

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
_WORDS = ("title", "message", "error", "detail", "error_message", "msg")
_MORE = ("errors", "error_description", "reason")


def wrapped(message: str, kind: str, param: str | None, code: str | None) -> Chunk:
    """Return an error body with OpenAI's four keys."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def message_of(body: Chunk, status: int) -> str:
    """Return the words of a flat error *body*, with the request's id if it has one."""
    words = [text for key in _WORDS + _MORE if (text := text_of(body.get(key)))]
    request = text_of(body.get("requestId") or body.get("request_id"))
    message = ": ".join(dict.fromkeys(words)) or phrase(status)
    return f"{message} (request {request})" if request else message


def text_of(value: Json) -> str | None:
    """Return *value* as text, JSON where it has parts; None where it says nothing."""
    if value is None or value in ("", [], {}):
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
