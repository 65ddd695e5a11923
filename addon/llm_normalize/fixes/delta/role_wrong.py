"""A `role` other than `assistant`."""

from ...chat.chunks.chunk import Chunk, in_deltas, in_messages
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding

_RIGHT = {"role": "assistant", "content": "Hi"}
_WRONG = {"role": "model", "content": "Hi"}


class RoleWrong(Fix):
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
        Example.of_event("stream", chunk(_WRONG), chunk(_RIGHT)),
        Example.of_body("body", completion(_WRONG), completion(_RIGHT)),
        Example.untouched("right", [chunk(_RIGHT)]),
        Example.untouched("none", [chunk({"content": "Hi"})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Repair the deltas."""
        return in_deltas(chunk, _repair)

    def body(self, body: Chunk) -> bool:
        """Repair the messages."""
        return in_messages(body, _repair)


def _repair(part: Chunk) -> bool:
    if not part.get("role") or part["role"] == "assistant":
        return False
    part["role"] = "assistant"
    return True
