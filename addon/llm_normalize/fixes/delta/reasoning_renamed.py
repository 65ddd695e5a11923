"""Reasoning under `reasoning`, `reasoning_text` or `reasoning_details` alone."""

from ...chat.chunks.chunk import Chunk, in_deltas, in_messages
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding

_DETAILS = {
    "reasoning_details": [{"type": "reasoning.text", "text": "so"}, {"data": 1}]
}
_HI = {"role": "assistant", "content": "Hi"}


class ReasoningRenamed(Fix):
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
            completion({**_HI, "reasoning_text": "so"}),
            completion({**_HI, "reasoning_text": "so", "reasoning_content": "so"}),
        ),
        Example.untouched(
            "both", [chunk({"reasoning": "so", "reasoning_content": "so"})]
        ),
        Example.untouched("empty", [chunk({"content": "Hi", "reasoning": None})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add it to the deltas."""
        return in_deltas(chunk, _add)

    def body(self, body: Chunk) -> bool:
        """Add it to the messages."""
        return in_messages(body, _add)


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


def _add(part: Chunk) -> bool:
    text = part.get("reasoning") or part.get("reasoning_text") or _details(part)
    if not isinstance(text, str) or not text or part.get("reasoning_content"):
        return False
    part["reasoning_content"] = text
    return True
