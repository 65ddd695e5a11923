"""Errors that are not wrapped in `{"error": {…}}`."""

from http import HTTPStatus

from ..chunk import Chunk, Json, dumps
from ..fix import Example, Fix

_FUNCTION = "Function 'f-1': Not found for account 'a-1'"
_KINDS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}


def _error(message: str, kind: str, code: Json, param: Json = None) -> Chunk:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


class ErrorUnwrapped(Fix):
    """Wrap a problem document, a flat error, a string or plain text.

    The provider's words make the message; what it says beside them is kept as it is.
    """

    name = "error-unwrapped"
    changes = 'error body without an `error` object -> `{"error": {…}}`'
    why = "openai-node, openai-python 3 and the AI SDK show no message at all."
    providers = ("NVIDIA NIM", "FastAPI servers", "gateways that answer in plain text")
    sources = (
        "https://github.com/Alishahryar1/free-claude-code/issues/1021",
        "https://github.com/Hmbown/Codewhale/issues/1482",
        "https://github.com/sipeed/picoclaw/issues/1019",
    )
    examples = (
        Example(
            "problem document",
            [{"status": 404, "title": "Not Found", "detail": _FUNCTION}],
            [_error(f"Not Found: {_FUNCTION}", "invalid_request_error", None)],
            kind="error",
            status=404,
        ),
        Example(
            "title alone",
            [{"status": 429, "title": "Too Many Requests"}],
            [_error("Too Many Requests", "rate_limit_error", None)],
            kind="error",
            status=429,
        ),
        Example(
            "flat",
            [{"message": "No GPU", "type": "internal_server_error", "code": 500}],
            [_error("No GPU", "internal_server_error", "500")],
            kind="error",
        ),
        Example(
            "string",
            [{"error": "Model is loading"}],
            [_error("Model is loading", "server_error", None)],
            kind="error",
            status=503,
        ),
        Example(
            "plain text",
            [b"404 page not found\n"],
            [_error("404 page not found", "invalid_request_error", None)],
            kind="error",
            status=404,
        ),
        Example.untouched(
            "wrapped", [_error("Bad key", "invalid_request_error", None)], kind="error"
        ),
    )

    def error(self, body: Json, status: int) -> Chunk | None:
        """Return the wrapped error; None if it is wrapped, or not recognised."""
        if isinstance(body, str):
            text = body.strip() or _phrase(status)
            # A web page is no message to show; it passes as it is.
            return None if text.startswith("<") else _error(text, _kind(status), None)
        if not isinstance(body, dict) or isinstance(body.get("error"), dict):
            return None
        return _error(
            _message(body, status),
            _text(body.get("type")) or _kind(status),
            _text(body.get("code")),
            _text(body.get("param")),
        )


def _message(body: Chunk, status: int) -> str:
    words = [
        text
        for key in ("title", "message", "error", "detail", "error_message", "msg")
        if (text := _text(body.get(key)))
    ]
    request = _text(body.get("requestId") or body.get("request_id"))
    message = ": ".join(dict.fromkeys(words)) or _phrase(status)
    return f"{message} (request {request})" if request else message


def _text(value: Json) -> str | None:
    """Return *value* as text, JSON where it has parts; None where it says nothing."""
    if value is None or value in ("", [], {}):
        return None
    return value if isinstance(value, str) else dumps(value).decode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP status {status}"


def _kind(status: int) -> str:
    """Return the type that OpenAI's API gives errors of this *status*."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error"
    return _KINDS.get(status, "invalid_request_error")
