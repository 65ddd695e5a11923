"""`finish_reason: "error"`: the answer failed, and no error says so."""

import copy

from ..chunk import Chunk, choices, speaks
from ..errors import wrapped
from ..fix import Example, Fix, chunk, completion

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_HI = {"role": "assistant", "content": "Hi"}
_WORDS = "The provider ended the answer with an error"
_ERROR = wrapped(_WORDS, "server_error", None, None)


class FinishError(Fix):
    """Send an error event; a body, whose text is there, was cut short."""

    name = "finish-error"
    changes = '`finish_reason: "error"` -> an error event; `length` in a body'
    why = "Typed clients raise at an unknown reason, or take it for a success."
    providers = ("OpenRouter", "gateways", "Cohere")
    sources = (
        "https://openrouter.ai/docs/api-reference/errors",
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
    )
    examples = (
        Example(
            "stream",
            [_TEXT, chunk({"content": "!"}, finish="error")],
            [_TEXT, chunk({"content": "!"}), _ERROR],
        ),
        Example("alone", [_TEXT, chunk({}, finish="ERROR")], [_TEXT, _ERROR]),
        Example.of_body(
            "body", completion(_HI, finish="error"), completion(_HI, finish="length")
        ),
        Example.untouched("stop", [_TEXT, chunk({}, finish="stop")], ended=False),
    )

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Part the failure from what the chunk says."""
        failed = _failed(chunk)
        if not failed:
            return None
        for choice in failed:
            choice["finish_reason"] = None
        error = copy.deepcopy(_ERROR)
        return [chunk, error] if speaks(chunk) else [error]

    def body(self, body: Chunk) -> bool:
        """Say that the text is not whole."""
        failed = _failed(body)
        for choice in failed:
            choice["finish_reason"] = "length"
        return bool(failed)


def _failed(chunk: Chunk) -> list[Chunk]:
    return [
        choice
        for choice in choices(chunk)
        if str(choice.get("finish_reason")).lower() == "error"
    ]
