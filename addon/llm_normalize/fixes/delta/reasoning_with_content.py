"""Reasoning in one delta with text or a tool call."""

from ...chat.chunks.chunk import EVERY_REASONING, Chunk, deltas, envelope_of
from ...repair.fix import Example, Fix, chunk, head
from ...repair.look import Finding

_BOTH = {"role": "assistant", "content": "Hi", "reasoning_content": "so"}
_FIRST = chunk({"role": "assistant", "reasoning_content": "so"})
_KEYS = (*EVERY_REASONING, "reasoning_details")


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
        Example(
            "text", [chunk(_BOTH)], [_FIRST, chunk({"content": "Hi"})], ended=False
        ),
        Example(
            "call",
            [chunk({"reasoning_content": "so", "tool_calls": [head()]})],
            [chunk({"reasoning_content": "so"}), chunk({"tool_calls": [head()]})],
            ended=False,
        ),
        Example.untouched("alone", [_FIRST, chunk({"content": "Hi"})], ended=False),
        Example.untouched(
            "no text", [chunk({"content": "", "reasoning_content": "so"})]
        ),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk."""
        thoughts: list[Chunk] = []
        for _, choice, delta in deltas(chunk):
            known = [key for key in _KEYS if delta.get(key)]
            if not known or not (delta.get("content") or delta.get("tool_calls")):
                continue
            # The role opens the choice, so it goes with what comes first.
            thought = {key: delta.pop(key) for key in ("role", *known) if key in delta}
            rest = {"delta": thought, "finish_reason": None}
            if "logprobs" in choice:
                rest["logprobs"] = None
            thoughts.append({**choice, **rest})
            choice.pop("text", None)
        if not thoughts:
            return None
        first = envelope_of(chunk)
        return [{**first, "choices": thoughts}, chunk]
