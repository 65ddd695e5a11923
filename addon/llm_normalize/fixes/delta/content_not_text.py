"""`content` as an object or a number where OpenAI sends its text."""

from ...chat.chunks.chunk import Chunk, in_deltas, in_messages
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding
from ...wire.json_text import dumps


class ContentNotText(Fix):
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

    def edit(self, chunk: Chunk) -> bool:
        """Write the deltas' content as text."""
        return in_deltas(chunk, _write)

    def body(self, body: Chunk) -> bool:
        """Write the messages' content as text."""
        return in_messages(body, _write)


def _write(part: Chunk) -> bool:
    if isinstance(part.get("content"), str | list | None):
        return False
    part["content"] = dumps(part["content"]).decode()
    return True
