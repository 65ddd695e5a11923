"""The reasoning of an answer."""

from ..chat.chunks.chunk import EVERY_REASONING, Chunk
from ..chat.chunks.chunk_split import part_first
from ..repair.fix import HI, WORD, Example, Fix, PartFix, chunk, head
from ..repair.look import Finding

_DETAILS = {
    "reasoning_details": [{"type": "reasoning.text", "text": "so"}, {"data": 1}]
}


# Reasoning under `reasoning`, `reasoning_text` or `reasoning_details` alone.
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
        Example.of_delta(
            "stream",
            {"reasoning": "so"},
            {"reasoning": "so", "reasoning_content": "so"},
        ),
        Example.of_delta("details", _DETAILS, {**_DETAILS, "reasoning_content": "so"}),
        Example.of_message(
            "body",
            {**HI, "reasoning_text": "so"},
            {**HI, "reasoning_text": "so", "reasoning_content": "so"},
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


_BOTH = {**HI, "reasoning_content": "so"}
_FIRST = chunk({"role": "assistant", "reasoning_content": "so"})
_KEYS = (*EVERY_REASONING, "reasoning_details")


# Reasoning in one delta with text or a tool call.
class ReasoningWithContent(Fix):
    """Send the reasoning first, in a chunk of its own."""

    name = "reasoning-with-content"
    changes = "reasoning beside text or a tool call -> a chunk of its own before it"
    why = "Continue takes one of them from a delta, and loses the reasoning."
    providers = ("vLLM", "Mistral (Magistral)", "gateways that join chunks")
    handles = Finding.REASONING
    sources = (
        "https://github.com/continuedev/continue/tree/main/packages/openai-adapters",
        "https://api-docs.deepseek.com/guides/reasoning_model",
    )
    examples = (
        Example("text", [chunk(_BOTH)], [_FIRST, WORD]),
        Example(
            "call",
            [chunk({"reasoning_content": "so", "tool_calls": [head()]})],
            [chunk({"reasoning_content": "so"}), chunk({"tool_calls": [head()]})],
        ),
        Example.untouched("alone", [_FIRST, WORD]),
        Example.untouched(
            "no text", [chunk({"content": "", "reasoning_content": "so"})]
        ),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk."""
        others = ("content", "tool_calls")
        return part_first(chunk, _KEYS, others, takes_logprobs=False)
