"""An `error` object that lacks keys, or whose values are not strings."""

from ...chat.chunks.chunk import Chunk
from ...chat.errors.errors import KEYS, message_of, phrase, text_of, words_of
from ...repair.fix import Example, Fix
from ...wire.json_text import Json

_NONE = ("None", "null", "about:blank")
"""Python's None and JSON's null as text, and the type of a problem without one.

https://www.rfc-editor.org/rfc/rfc9457#name-aboutblank
"""
_BUSY = {"message": "Busy", "type": "Service Unavailable"}


class ErrorFields(Fix):
    """Give an error its four keys, each a string or null; keep what else it says."""

    name = "error-fields"
    changes = (
        '`error.code: 503` -> `"503"`; missing keys, `"None"`, `about:blank` -> null'
    )
    why = "Typed clients expect strings, and all four keys."
    providers = ("NVIDIA NIM", "vLLM", "llama.cpp", "LiteLLM", "AWS")
    sources = (
        "https://github.com/hidenobunagai/nvidia-nim-provider/issues/2",
        "https://github.com/can1357/oh-my-pi/issues/2299",
        "https://platform.openai.com/docs/guides/error-codes",
    )
    examples = (
        Example.of_error(
            "number",
            503,
            {"error": {**_BUSY, "code": 503}},
            {"error": {**_BUSY, "code": "503", "param": None}},
        ),
        Example.of_error(
            "none as text",
            400,
            {"error": {"message": "No", "type": "None", "param": "None", "code": "1"}},
            {"error": {"message": "No", "type": None, "param": None, "code": "1"}},
        ),
        Example.of_error(
            "code in capitals",
            400,
            {"error": {"Code": "Throttling", **_BUSY, "param": None}},
            {
                "error": {
                    "Code": "Throttling",
                    **_BUSY,
                    "param": None,
                    "code": "Throttling",
                }
            },
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
