"""An `error` object that lacks keys, or whose values are no strings."""

from ...chat.chunks.chunk import Chunk
from ...chat.errors.errors import KEYS, message_of, phrase, text_of, words_of
from ...repair.fix import Example, Fix
from ...wire.json_text import Json

_BUSY = {"message": "Busy", "type": "Service Unavailable"}


class ErrorFields(Fix):
    """Give an error its four keys, each a string or null; keep what else it says."""

    name = "error-fields"
    changes = '`error.code: 503` -> `"503"`; missing keys -> null'
    why = "Typed clients expect strings, and all four keys."
    providers = ("NVIDIA NIM", "vLLM", "llama.cpp")
    sources = (
        "https://github.com/hidenobunagai/nvidia-nim-provider/issues/2",
        "https://platform.openai.com/docs/guides/error-codes",
    )
    examples = (
        Example.of_error(
            "number",
            503,
            {"error": {**_BUSY, "code": 503}},
            {"error": {**_BUSY, "code": "503", "param": None}},
        ),
        Example.untouched(
            "OpenAI's own",
            [{"error": {**_BUSY, "param": None, "code": "x"}}],
            kind="error",
        ),
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
