"""A request that is too long for its model, refused without OpenAI's code."""

from ...chat.chunks.chunk import Chunk
from ...chat.errors.context_overflow import CODE, is_overflow
from ...repair.fix import Example, Fix
from ...wire.json_text import Json

_KIND = "invalid_request_error"
_WORDS = (
    "This model's maximum context length is 8192 tokens. However, you requested 9000 "
    "tokens (8000 in the messages, 1000 in the completion)."
)


def _error(kind: str, code: str | None, message: str = _WORDS) -> Chunk:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


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
            "vLLM's", 400, _error("BadRequestError", "400"), _error(_KIND, CODE)
        ),
        Example.of_error(
            "llama.cpp's",
            400,
            _error("exceed_context_size_error", "400", "Too long"),
            _error(_KIND, CODE, "Too long"),
        ),
        Example.of_event(
            "in a stream", _error("BadRequestError", "400"), _error(_KIND, CODE)
        ),
        Example.untouched("OpenAI's own", [_error(_KIND, CODE)], kind="error"),
        Example.untouched(
            "a limit of the answer",
            [_error(_KIND, None, "max_tokens is too large: this model has 16384")],
            kind="error",
        ),
        Example.untouched(
            "a rate",
            [_error("tokens", None, "Request too large: tokens per minute (TPM)")],
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
