"""Answers that are an error."""

from ..chat.chunks.chunk import Chunk
from ..chat.errors.context_overflow import CODE, is_overflow
from ..chat.errors.errors import (
    KEYS,
    code_of,
    kind_of,
    message_of,
    phrase,
    text_of,
    words_of,
    words_of_page,
    wrapped,
)
from ..repair.fix import BODY, UNSTREAMED, Example, Fix
from ..wire.json_text import Json


def _error(message: str, kind: str | None, code: str | None = None) -> Chunk:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


_NO = _error("Provider returned error", "server_error", "502")


# HTTP 200 for a body that carries nothing but an error.
# The repair is in `repair/engine/body.py`.
class ErrorStatus(Fix):
    """Answer with the status that the error names, or that its type has at OpenAI.

    repair/engine/body.py does it. Without either it is 500. A web page or plain words in the
    place of an answer get 502 (exchange/delivery/buffered_answer.py).
    """

    name = "error-status"
    changes = "HTTP 200 with only an error, or `choices: null` alone, in the body -> a fitting 4xx or 5xx"
    why = "20 of 20 libraries lose the error, and fail later without a word of it."
    providers = ("OpenRouter", "LM Studio", "Workers AI")
    sources = (
        "https://github.com/apache/rocketmq-dashboard/issues/2178",
        "https://openrouter.ai/docs/api-reference/errors",
        "https://github.com/pydantic/pydantic-ai/issues/6900",
    )
    examples = (
        Example(
            "error", [_NO], [_NO], asked=UNSTREAMED, kind="body", changes_status=502
        ),
        Example.untouched("answer", [BODY], kind="body"),
    )


_BESIDE = (("detail", list), ("errors", list), ("usage", dict))
"""What stays beside the error: more than words."""


# Errors that are not wrapped in `{"error": {…}}`.
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
        kind = kind_of(status)
        if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict):
            return self.error(body[0], status) or body[0]
        if isinstance(body, dict) and not isinstance(body.get("error"), dict):
            made = wrapped(
                message_of(body, status),
                text_of(body.get("type")) or kind,
                text_of(body.get("param")),
                text_of(code_of(body)),
            )
            wanted = () if self.asked.strict else _BESIDE
            given = [(key, kind, body.get(key)) for key, kind in wanted]
            more = {key: x for key, kind, x in given if x and isinstance(x, kind)}
            return made | more
        if isinstance(body, dict):
            return None
        text = text_of(body) or ""
        text = words_of_page(text) if text.lstrip().startswith("<") else text.strip()
        return wrapped(text or phrase(status), kind, None, None)


_NONE = ("None", "null", "about:blank")
"""Python's None and JSON's null as text, and the type of a problem without one.

https://www.rfc-editor.org/rfc/rfc9457#name-aboutblank
"""
_BUSY = {"message": "Busy", "type": "Service Unavailable"}


def _busy(**more: Json) -> Chunk:
    return {"error": {**_BUSY, **more}}


def _throttled(**more: Json) -> Chunk:
    return {"error": {"Code": "Throttling", **_BUSY, "param": None, **more}}


# An `error` object that lacks keys, or whose values are not strings.
class ErrorFields(Fix):
    """Give an error its four keys, each a string or null; keep what else it says."""

    name = "error-fields"
    changes = (
        '`error.code: 503` -> `"503"`; missing keys, `"None"`, `about:blank` -> null; '
        "Google's `retryDelay` -> `retry-after`"
    )
    why = "Typed clients expect strings, and all four keys."
    providers = ("NVIDIA NIM", "vLLM", "llama.cpp", "LiteLLM", "AWS", "Gemini")
    sources = (
        "https://github.com/hidenobunagai/nvidia-nim-provider/issues/2",
        "https://github.com/can1357/oh-my-pi/issues/2299",
        "https://github.com/vercel/ai/issues/18627",
        "https://platform.openai.com/docs/guides/error-codes",
    )
    examples = (
        Example.of_error("number", 503, _busy(code=503), _busy(code="503", param=None)),
        Example.of_error(
            "none as text",
            400,
            {"error": {"message": "No", "type": "None", "param": "None", "code": "1"}},
            _error("No", None, "1"),
        ),
        Example.of_error(
            "code in capitals", 400, _throttled(), _throttled(code="Throttling")
        ),
        Example.untouched("OpenAI's own", [_busy(param=None, code="x")], kind="error"),
        Example.untouched("not wrapped", [{"detail": "no"}], kind="error"),
    )

    def error(self, body: Json, status: int) -> Chunk | None:
        """Return the body with a complete error."""
        error = body.get("error") if isinstance(body, dict) else None
        if not isinstance(error, dict):
            return None
        fixed = dict(error)
        for key in KEYS:
            value = fixed.setdefault(key)
            if key != "message" and value in _NONE:
                fixed[key] = value = None
            if value is None and key == "code":
                fixed[key] = value = fixed.get("Code")
            if value is not None and not isinstance(value, str):
                fixed[key] = words_of(value) if key == "message" else text_of(value)
        if not fixed["message"]:
            words = message_of(
                {k: v for k, v in error.items() if k not in KEYS}, status
            )
            status_text = text_of(error.get("status")) or fixed["type"] or fixed["code"]
            fixed["message"] = (
                words if words != phrase(status) else status_text or words
            )
        same = list(fixed.items()) == list(error.items())
        return None if same else {**body, "error": fixed}


_KIND = "invalid_request_error"
_WORDS = (
    "This model's maximum context length is 8192 tokens. However, you requested 9000 "
    "tokens (8000 in the messages, 1000 in the completion)."
)


# A request that is too long for its model, refused without OpenAI's code.
class ContextOverflowUnnamed(Fix):
    """Give the error OpenAI's type and code; the provider's words stay.

    chat/errors/context_overflow.py knows the words. Not for a limit of the answer's tokens that
    is too large by itself, nor for rates.
    """

    name = "context-overflow-unnamed"
    changes = (
        f'`error.type: "BadRequestError"`, any `code` -> `"{_KIND}"`, `"{CODE}"`, where '
        "the words say that the request is too long"
    )
    why = "Agents shorten their conversation at this code; without it they give up."
    providers = ("NVIDIA NIM", "vLLM", "llama.cpp", "SGLang", "Ollama", "Mistral")
    sources = (
        "https://github.com/earendil-works/pi/issues/129",
        "https://github.com/openai/codex/blob/main/codex-rs/codex-api/src/sse/responses.rs",
        "https://github.com/stdapi-ai/stdapi.ai/issues/293",
    )
    examples = (
        Example.of_error(
            "vLLM's",
            400,
            _error(_WORDS, "BadRequestError", "400"),
            _error(_WORDS, _KIND, CODE),
        ),
        Example.of_error(
            "llama.cpp's",
            400,
            _error("Too long", "exceed_context_size_error", "400"),
            _error("Too long", _KIND, CODE),
        ),
        Example.of_event(
            "in a stream",
            _error(_WORDS, "BadRequestError", "400"),
            _error(_WORDS, _KIND, CODE),
        ),
        Example.untouched("OpenAI's own", [_error(_WORDS, _KIND, CODE)], kind="error"),
        Example.untouched(
            "a limit of the answer",
            [_error("max_tokens is too large: this model has 16384", _KIND)],
            kind="error",
        ),
        Example.untouched(
            "a rate",
            [_error("Request too large: tokens per minute (TPM)", "tokens")],
            kind="error",
        ),
    )

    def error(self, body: Json, status: int) -> Chunk | None:
        """Return the body with OpenAI's type and code."""
        error = body.get("error") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(error, dict):
            return None
        known = {"type": _KIND, "code": CODE}
        if error.items() >= known.items() or not is_overflow(error, status):
            return None
        return {**body, "error": {**error, **known}}
