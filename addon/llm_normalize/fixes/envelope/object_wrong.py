"""`object` missing, empty, or of another kind of answer."""

from ...chat.chunks.chunk import Chunk
from ...chat.conversion import is_body
from ...repair.fix import BODY, WORD, Example, Fix
from ...repair.look import Finding


class ObjectWrong(Fix):
    """Say what the object is."""

    name = "object-wrong"
    changes = "`object` -> `chat.completion.chunk`; `chat.completion` in a body"
    why = "Strict types take the literal and nothing else."
    providers = ("Perplexity", "Z.AI", "Azure", "GitHub Copilot", "mini-sglang")
    handles = Finding.OBJECT
    sources = (
        "https://github.com/MacPaw/OpenAI/issues/317",
        "https://github.com/sgl-project/mini-sglang/issues/51",
        "https://github.com/mlflow/mlflow/issues/12767",
    )
    examples = (
        Example.of_event("stream", {**WORD, "object": "chat.completion"}, WORD),
        Example.of_event("empty", {**WORD, "object": ""}, WORD),
        Example.of_body("body", {**BODY, "object": "text_completion"}, BODY),
        Example.untouched("right", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set it in a chunk."""
        kind = "chat.completion.chunk"
        if chunk.get("object") == kind or is_body(chunk, self.asked, self.seen):
            return False
        chunk["object"] = kind
        return True

    def body(self, body: Chunk) -> bool:
        """Set it in a body."""
        kind = "chat.completion"
        if body.get("object") == kind:
            return False
        body["object"] = kind
        return True
