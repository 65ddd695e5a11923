"""A `role` other than `assistant`."""

from ...chat.chunks.chunk import Chunk
from ...repair.fix import HI, Example, PartFix, chunk, completion
from ...repair.look import Finding

_WRONG = {"role": "model", "content": "Hi"}


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
        Example.of_event("stream", chunk(_WRONG), chunk(HI)),
        Example.of_body("body", completion(_WRONG), completion(HI)),
        Example.untouched("right", [chunk(HI)]),
        Example.untouched("none", [chunk({"content": "Hi"})]),
    )

    def part(self, part: Chunk) -> bool:
        """Name that role."""
        if not part.get("role") or part["role"] == "assistant":
            return False
        part["role"] = "assistant"
        return True
