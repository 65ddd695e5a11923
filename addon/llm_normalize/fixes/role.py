"""The role of a delta or message."""

from ..chat.chunks.chunk import Chunk, in_messages, put_first
from ..repair.fix import HI, ROLE, TEXT, WORD, DeltaFix, Example, PartFix, chunk
from ..repair.look import Finding

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
        Example.of_delta("stream", _WRONG, HI),
        Example.of_message("body", _WRONG, HI),
        Example.untouched("none", [WORD]),
    )

    def part(self, part: Chunk) -> bool:
        """Name that role."""
        if not part.get("role") or part["role"] == "assistant":
            return False
        part["role"] = "assistant"
        return True


# The role again, after the first chunk of a choice.
class RoleRepeated(DeltaFix):
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

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Drop the key where the role was sent."""
        if not (delta.get("role") and self.seen.choice(index).role):
            return False
        del delta["role"]
        return True


# No role in the first chunk of a choice, or in a message.
class RoleMissing(DeltaFix):
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
        Example.of_message("body", {"content": "Hi"}, HI),
        Example.untouched("there", [ROLE, WORD]),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Add the role to the first chunk of the choice."""
        is_first = not (delta.get("role") or self.seen.choice(index).role)
        return is_first and _name(delta)

    def body(self, body: Chunk) -> bool:
        """Add the role to each message."""
        return in_messages(body, _name)


def _name(part: Chunk) -> bool:
    if part.get("role"):
        return False
    put_first(part, "role", "assistant")
    return True
