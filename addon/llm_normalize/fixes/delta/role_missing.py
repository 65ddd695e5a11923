"""No role in the first chunk of a choice, or in a message."""

from ...chat.chunks.chunk import Chunk, deltas, messages, put_first
from ...repair.fix import WORD, Example, Fix, chunk, completion
from ...repair.look import Finding


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
        Example(
            "stream",
            [WORD, WORD],
            [chunk({"role": "assistant", "content": "Hi"}), WORD],
            ended=False,
        ),
        Example.of_body(
            "body",
            completion({"content": "Hi"}),
            completion({"role": "assistant", "content": "Hi"}),
        ),
        Example.untouched(
            "there", [chunk({"role": "assistant", "content": ""}), WORD], ended=False
        ),
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
