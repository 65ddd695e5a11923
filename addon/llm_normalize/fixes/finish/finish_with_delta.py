"""A finish reason on a chunk that still brings text, a tool call or a role."""

from typing import Any

from ...chat.chunks.chunk import Chunk, choices, deltas, envelope_of
from ...chat.chunks.finish_words import finishes
from ...repair.fix import DONE, STOP, TEXT, Example, Fix, chunk
from ...repair.look import Finding


class FinishWithDelta(Fix):
    """Send what the delta brings first, then the finish reason with `delta: {}`."""

    name = "finish-with-delta"
    changes = "`finish_reason` beside a delta -> a chunk of its own with `delta: {}`"
    why = (
        "Stream helpers that close a tool call at its finish never see its arguments; "
        "clients that stop at a finish reason lose the last word."
    )
    providers = ("NVIDIA NIM", "vLLM 0.6", "Mistral", "Workers AI")
    handles = Finding.FINISH_BESIDE | Finding.SEVERAL_CHOICES
    sources = (
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example(
            "last word",
            [TEXT, chunk({"content": "!"}, finish="stop"), DONE],
            [TEXT, chunk({"content": "!"}), STOP, DONE],
        ),
        Example(
            "empty text",
            [TEXT, chunk({"content": ""}, finish="stop"), DONE],
            [TEXT, STOP, DONE],
        ),
        Example.untouched("alone", [TEXT, STOP, DONE]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, or empty a delta that says nothing."""
        finishing = [delta for _, choice, delta in deltas(chunk) if finishes(choice)]
        goes_on = len(finishing) < len(choices(chunk))
        if not finishing or not (goes_on or any(finishing)):
            return None
        if not goes_on and not any(map(_says_something, finishing)):
            for delta in finishing:
                delta.clear()
            return [chunk]
        first = envelope_of(chunk)
        first["choices"] = [
            {**choice, "finish_reason": None}
            for choice in choices(chunk)
            if not finishes(choice)
            or _says_something(choice.get("delta") or {})
            or choice.get("logprobs")
        ]
        chunk["choices"] = [
            _without_delta(choice) for choice in choices(chunk) if finishes(choice)
        ]
        return [first, chunk]


def _says_something(delta: dict[str, Any]) -> bool:
    return any(value not in (None, "", [], {}) for value in delta.values())


def _without_delta(choice: Chunk) -> Chunk:
    rest = {**choice, "delta": {}}
    if _says_something(choice.get("delta") or {}):
        rest.pop("text", None)
    if "logprobs" in rest:
        rest["logprobs"] = None
    return rest
