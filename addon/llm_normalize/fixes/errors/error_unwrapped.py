"""Errors that are not wrapped in `{"error": {…}}`."""

from ...chat.chunks.chunk import Chunk
from ...chat.errors import errors
from ...repair.fix import Example, Fix
from ...wire.json_text import Json

_BESIDE = (("detail", list), ("errors", list), ("usage", dict))
"""What stays beside the error: more than words."""


def _error(message: str, kind: str, code: str | None = None) -> Chunk:
    return errors.wrapped(message, kind, None, code)


class ErrorUnwrapped(Fix):
    """Wrap a problem document, a flat error, a text or a page; the words stay."""

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
        Example.of_error(
            "problem document",
            404,
            {"status": 404, "title": "Not Found", "detail": "No function f-1"},
            _error("Not Found: No function f-1", "invalid_request_error"),
        ),
        Example.of_error(
            "flat",
            500,
            {"message": "No GPU", "type": "internal_server_error", "code": 500},
            _error("No GPU", "internal_server_error", "500"),
        ),
        Example.of_error(
            "string", 503, {"error": "Loading"}, _error("Loading", "server_error")
        ),
        Example.of_error(
            "plain text",
            404,
            b"404 page not found\n",
            _error("404 page not found", "invalid_request_error"),
        ),
        Example.of_error(
            "web page",
            502,
            b"<html><title>502 Bad Gateway</title><hr>nginx</html>",
            _error("502 Bad Gateway nginx", "server_error"),
        ),
        Example.untouched("wrapped", [_error("No", "server_error")], kind="error"),
    )

    def error(self, body: Json, status: int) -> Chunk | None:
        """Return the wrapped error; None if it is wrapped."""
        kind = errors.kind_of(status)
        if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
            return self.error(body[0], status) or body[0]
        if isinstance(body, dict) and not isinstance(body.get("error"), dict):
            made = errors.wrapped(
                errors.message_of(body, status),
                errors.text_of(body.get("type")) or kind,
                errors.text_of(body.get("param")),
                errors.text_of(errors.code_of(body)),
            )
            wanted = () if self.asked.strict else _BESIDE
            given = [(key, kind, body.get(key)) for key, kind in wanted]
            more = {key: x for key, kind, x in given if x and isinstance(x, kind)}
            return made | more
        if isinstance(body, dict):
            return None
        text = errors.text_of(body) or ""
        text = (
            errors.words_of_page(text)
            if text.lstrip().startswith("<")
            else text.strip()
        )
        return errors.wrapped(text or errors.phrase(status), kind, None, None)
