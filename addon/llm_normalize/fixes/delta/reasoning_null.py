"""Reasoning that is null again once the text has begun."""

from ...chat.chunks.chunk import REASONING, Chunk, deltas
from ...chat.state.stream_state import MAX_TRACKED, Asked, Seen
from ...repair.fix import WORD, Example, Fix, chunk
from ...repair.look import Finding

_SO = chunk({"role": "assistant", "content": "", "reasoning_content": "so"})
_NULL = chunk({"content": "Hi", "reasoning_content": None})


class ReasoningNull(Fix):
    """Leave the key out, after reasoning has been sent."""

    name = "reasoning-null"
    changes = "`reasoning_content: null` after reasoning -> removed"
    why = "openai-node's helper puts the null in the place of all reasoning so far."
    providers = ("DeepSeek", "DashScope", "SGLang", "vLLM")
    handles = Finding.REASONING | Finding.NULL_REASONING
    sources = (
        "https://api-docs.deepseek.com/guides/reasoning_model",
        "https://github.com/sgl-project/sglang/issues/9657",
    )
    also_covered_by = ("field-null",)
    examples = (
        Example("text", [_SO, _NULL], [_SO, WORD], ended=False),
        Example.untouched("no reasoning", [_NULL], ended=False),
        Example.untouched("more reasoning", [_SO, _SO], ended=False),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._thought: set[int] = set()  # choices that have reasoned

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        changed = False
        for index, _, delta in deltas(chunk):
            for key in REASONING:
                if delta.get(key) and len(self._thought) < MAX_TRACKED:
                    self._thought.add(index)
                elif index in self._thought and delta.get(key, "") is None:
                    del delta[key]
                    changed = True
        return changed
