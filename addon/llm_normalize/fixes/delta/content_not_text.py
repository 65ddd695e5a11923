"""`content` as an object or a number where OpenAI sends its text."""

from ...chat.chunks.chunk import Chunk
from ...repair.fix import Example, PartFix, chunk, completion
from ...repair.look import Finding
from ...wire.json_text import dumps


class ContentNotText(PartFix):
    """Send the JSON as text, which is what OpenAI's JSON mode does."""

    name = "content-not-text"
    changes = "`content: {…}`, a number or a boolean -> its JSON as a string"
    why = "Typed clients expect a string, and structured output is parsed from one."
    providers = ("Cloudflare Workers AI (JSON mode)",)
    handles = Finding.ODD_CONTENT
    sources = (
        "https://developers.cloudflare.com/workers-ai/features/json-mode/",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    examples = (
        Example.of_body(
            "object",
            completion({"role": "assistant", "content": {"a": 1}}),
            completion({"role": "assistant", "content": '{"a":1}'}),
        ),
        Example.of_event("number", chunk({"content": 4}), chunk({"content": "4"})),
        Example.untouched("string", [chunk({"content": "4"})]),
        Example.untouched("null", [chunk({"content": None})]),
    )

    def part(self, part: Chunk) -> bool:
        """Write its content as text."""
        if isinstance(part.get("content"), str | list | None):
            return False
        part["content"] = dumps(part["content"]).decode()
        return True
