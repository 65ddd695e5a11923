"""A `finish_reason` that is a failure's: `error`, `engine_overloaded`, `503`."""

from ...chat.chunks.chunk import Chunk, choices
from ...chat.chunks.chunk_content import chunk_has_content
from ...chat.chunks.finish_words import FAILED, meaning
from ...chat.errors.errors import failures_in
from ...repair.fix import HI, TEXT, Example, Fix, chunk, completion
from ...repair.look import Finding

_FAILED = chunk({}, finish="error")
_BUSY = chunk({}, finish="engine_overloaded")


class FinishError(Fix):
    """Send an error event with the word; a body, whose text is there, was cut short."""

    name = "finish-error"
    changes = (
        '`finish_reason: "error"`, `"engine_overloaded"`, … -> an error event; `length` in '
        "a body"
    )
    why = "Typed clients raise at an unknown reason, or take it for a success."
    providers = ("OpenRouter", "gateways", "Cohere", "Zhipu", "DeepSeek")
    handles = Finding.ODD_FINISH
    sources = (
        "https://openrouter.ai/docs/api-reference/errors",
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
        "https://api-docs.deepseek.com/api/create-chat-completion",
    )
    examples = (
        Example(
            "stream",
            [TEXT, chunk({"content": "!"}, finish="error")],
            [TEXT, chunk({"content": "!"}), {"error": failures_in(_FAILED)[0]}],
        ),
        Example("word", [TEXT, _BUSY], [TEXT, {"error": failures_in(_BUSY)[0]}]),
        Example.of_body(
            "body", completion(HI, finish="error"), completion(HI, finish="length")
        ),
        Example.untouched("stop", [TEXT, chunk({}, finish="stop")], ended=False),
        Example.untouched("synonym", [TEXT, chunk({}, finish="eos")], ended=False),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Part the failure from what the chunk says."""
        found = failures_in(chunk)
        if not found:
            return None
        for choice in _failed(chunk):
            choice["finish_reason"] = None
        errors: list[Chunk] = [{"error": each} for each in found]
        return [chunk, *errors] if chunk_has_content(chunk) else errors

    def body(self, body: Chunk) -> bool:
        """Say that the text is not whole."""
        failed = _failed(body)
        for choice in failed:
            choice["finish_reason"] = "length"
        return bool(failed)


def _failed(chunk: Chunk) -> list[Chunk]:
    return [
        each for each in choices(chunk) if meaning(each.get("finish_reason")) == FAILED
    ]
