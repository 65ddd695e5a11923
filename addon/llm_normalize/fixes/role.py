"""The role of a delta or message."""

from ..chat.chunks.chunk import Chunk, deltas, messages, put_first
from ..repair.fix import (
    BODY,
    ROLE,
    TEXT,
    WORD,
    Example,
    Fix,
    PartFix,
    chunk,
    completion,
)
from ..repair.look import Finding


# `role` is null or empty where OpenAI leaves it out.
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
        Example("null", [ROLE, chunk({"role": None, "content": "Hi"})], [ROLE, WORD]),
        Example("empty", [ROLE, chunk({"role": "", "content": "Hi"})], [ROLE, WORD]),
        Example.untouched("real role", [ROLE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the key."""
        changed = False
        for _, _, delta in deltas(chunk):
            if "role" in delta and not delta["role"]:
                del delta["role"]
                changed = True
        return changed


_WRONG = {"role": "model", "content": "Hi"}


# A `role` other than `assistant`.
class RoleWrong(PartFix):
    """Send `assistant`, the only role that answers."""

    name = "role-wrong"
    changes = '`role: "model"` -> `"assistant"`'
    why = "Strict types know OpenAI's roles; others show the answer as somebody else's."
    providers = ("Gemini bridges", "custom servers")
    handles = Finding.ODD_ROLE
    sources = (
        "https://ai.google.dev/api/caching#Content",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event("stream", chunk(_WRONG), TEXT),
        Example.of_body("body", completion(_WRONG), BODY),
        Example.untouched("right", [TEXT]),
        Example.untouched("none", [WORD]),
    )

    def part(self, part: Chunk) -> bool:
        """Name that role."""
        if not part.get("role") or part["role"] == "assistant":
            return False
        part["role"] = "assistant"
        return True


# The role again, after the first chunk of a choice.
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
        Example("every chunk", [ROLE, TEXT], [ROLE, WORD]),
        Example.untouched("null", [ROLE, chunk({"role": None, "content": "Hi"})]),
        Example.untouched(
            "one per choice",
            [ROLE, chunk({"role": "assistant", "content": ""}, index=1)],
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


# No role in the first chunk of a choice, or in a message.
class RoleMissing(Fix):
    """Say `assistant` where a choice opens."""

    name = "role-missing"
    changes = "no role in a choice's first chunk, or in a message -> `assistant`"
    why = (
        'openai-node\'s stream helper raises "missing role for choice 0"; LangChain '
        "JS drops tool calls and usage."
    )
    providers = ("NVIDIA NIM on SGLang", "llama.cpp (old)", "Open WebUI", "Bifrost")
    handles = Finding.NO_ROLE
    sources = (
        "https://github.com/ggml-org/llama.cpp/issues/5880",
        "https://github.com/open-webui/open-webui/issues/23917",
        "https://github.com/maximhq/bifrost/issues/6523",
    )
    examples = (
        Example("stream", [WORD, WORD], [TEXT, WORD]),
        Example.of_body("body", completion({"content": "Hi"}), BODY),
        Example.untouched("there", [ROLE, WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the role to the first chunk of each choice."""
        changed = False
        for index, _, delta in deltas(chunk):
            if not delta.get("role") and not self.seen.choice(index).role:
                put_first(delta, "role", "assistant")
                changed = True
        return changed

    def body(self, body: Chunk) -> bool:
        """Add the role to each message."""
        changed = False
        for _, message in messages(body):
            if not message.get("role"):
                put_first(message, "role", "assistant")
                changed = True
        return changed
