"""`role` is null or empty where OpenAI leaves it out."""

from ...chat.chunks.chunk import Chunk, deltas
from ...repair.fix import ROLE, Example, Fix, chunk
from ...repair.look import Finding


class RoleNull(Fix):
    """Drop a role that says nothing."""

    name = "role-null"
    changes = '`delta.role`: `null` or `""` -> removed'
    why = (
        'Strict clients fail to parse it (Vercel AI SDK: expected "assistant"); '
        'naive ones show "null".'
    )
    providers = ("NVIDIA NIM", "SGLang", "MiniMax", "Groq and Mistral gateways")
    handles = Finding.NULL_ROLE
    sources = (
        "https://github.com/sgl-project/sglang/issues/9657",
        "https://github.com/BerriAI/litellm/issues/2010",
        "https://github.com/vercel/ai/issues/15464",
    )
    examples = (
        Example(
            "null",
            [ROLE, chunk({"role": None, "content": "Hi"})],
            [ROLE, chunk({"content": "Hi"})],
            ended=False,
        ),
        Example(
            "empty",
            [ROLE, chunk({"role": "", "content": "Hi"})],
            [ROLE, chunk({"content": "Hi"})],
            ended=False,
        ),
        Example.untouched("real role", [ROLE], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the key."""
        changed = False
        for _, _, delta in deltas(chunk):
            if "role" in delta and not delta["role"]:
                del delta["role"]
                changed = True
        return changed
