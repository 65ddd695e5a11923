"""Reasoning under `reasoning` or `reasoning_text` alone."""

from ...chat.chunk import Chunk, in_deltas, in_messages
from ...repair.fix import Example, Fix, chunk, completion

_HI = {"role": "assistant", "content": "Hi"}


class ReasoningRenamed(Fix):
    """Send it as `reasoning_content` too, for clients that know only that.

    What was there stays. Clients that read both take the first they find.
    """

    name = "reasoning-renamed"
    changes = "`reasoning`, `reasoning_text` alone -> `reasoning_content` beside it"
    why = "Clients that know DeepSeek's name show no thoughts, and a long silence."
    providers = ("vLLM", "OpenRouter", "Groq", "Ollama", "Together", "Workers AI")
    key = "reasoning"
    sources = (
        "https://github.com/vllm-project/vllm/issues/27755",
        "https://api-docs.deepseek.com/guides/reasoning_model",
    )
    examples = (
        Example(
            "stream",
            [chunk({"reasoning": "so"})],
            [chunk({"reasoning": "so", "reasoning_content": "so"})],
            ended=False,
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


def _add(part: Chunk) -> bool:
    text = part.get("reasoning") or part.get("reasoning_text")
    if not isinstance(text, str) or not text or part.get("reasoning_content"):
        return False
    part["reasoning_content"] = text
    return True
