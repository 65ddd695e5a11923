"""The role again, after the first chunk of a choice."""

from ...chat.chunks.chunk import Chunk, deltas
from ...repair.fix import ROLE, Example, Fix, chunk
from ...repair.look import Finding


class RoleRepeated(Fix):
    """Keep the role in the first chunk of a choice only."""

    name = "role-repeated"
    changes = "`delta.role` after a choice's first chunk -> removed"
    why = "Clients that open a message at each role show one bubble per token."
    providers = ("Perplexity", "SGLang gateway", "many others")
    handles = Finding.ROLE_AGAIN
    sources = (
        "https://github.com/MacPaw/OpenAI/issues/317",
        "https://github.com/sgl-project/sglang/issues/19895",
    )
    spares_openai = True
    examples = (
        Example(
            "every chunk",
            [ROLE, chunk({"role": "assistant", "content": "Hi"})],
            [ROLE, chunk({"content": "Hi"})],
            ended=False,
        ),
        Example.untouched("null", [ROLE, chunk({"role": None, "content": "Hi"})]),
        Example.untouched(
            "one per choice",
            [ROLE, chunk({"role": "assistant", "content": ""}, index=1)],
            ended=False,
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the key where the role was sent."""
        changed = False
        for index, _, delta in deltas(chunk):
            if delta.get("role") and self.seen.choice(index).role:
                del delta["role"]
                changed = True
        return changed
