"""Reasoning under `reasoning`, `reasoning_text` or `reasoning_details` alone."""

from ...chat.chunks.chunk import Chunk
from ...repair.fix import HI, Example, PartFix, chunk, completion
from ...repair.look import Finding

_DETAILS = {
    "reasoning_details": [{"type": "reasoning.text", "text": "so"}, {"data": 1}]
}


class ReasoningRenamed(PartFix):
    """Send it as `reasoning_content` too, for clients that know only that.

    What was there stays. Clients that read both take the first they find.
    """

    name = "reasoning-renamed"
    changes = (
        "`reasoning`, `reasoning_text` or the words of `reasoning_details` alone -> "
        "`reasoning_content` beside it"
    )
    why = "Clients that know DeepSeek's name show no thoughts, and a long silence."
    providers = (
        "vLLM",
        "OpenRouter",
        "Groq",
        "Ollama",
        "Together",
        "Workers AI",
        "MiniMax",
    )
    handles = Finding.REASONING
    sources = (
        "https://github.com/vllm-project/vllm/issues/27755",
        "https://api-docs.deepseek.com/guides/reasoning_model",
    )
    examples = (
        Example.of_event(
            "stream",
            chunk({"reasoning": "so"}),
            chunk({"reasoning": "so", "reasoning_content": "so"}),
        ),
        Example.of_event(
            "details", chunk(_DETAILS), chunk({**_DETAILS, "reasoning_content": "so"})
        ),
        Example.of_body(
            "body",
            completion({**HI, "reasoning_text": "so"}),
            completion({**HI, "reasoning_text": "so", "reasoning_content": "so"}),
        ),
        Example.untouched(
            "both", [chunk({"reasoning": "so", "reasoning_content": "so"})]
        ),
        Example.untouched("empty", [chunk({"content": "Hi", "reasoning": None})]),
    )

    def part(self, part: Chunk) -> bool:
        """Add it."""
        text = part.get("reasoning") or part.get("reasoning_text") or _details(part)
        if not isinstance(text, str) or not text or part.get("reasoning_content"):
            return False
        part["reasoning_content"] = text
        return True


def _details(part: Chunk) -> str:
    """Return the words in the `reasoning_details` of *part*, and nothing encrypted."""
    found = part.get("reasoning_details")
    details = (
        [each for each in found if isinstance(each, dict)]
        if isinstance(found, list)
        else []
    )
    texts = [each.get("text") or each.get("summary") for each in details]
    return "".join(text for text in texts if isinstance(text, str))
