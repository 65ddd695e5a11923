"""A whole answer, `chat.completion`, where a stream was asked for."""

from ...chat.chunks.chunk import Chunk
from ...chat.conversion import chunks_of, is_body
from ...repair.fix import HI, ROLE, STOP, USAGE, Example, Fix, chunk, completion
from ...repair.look import Finding


class BodyInStream(Fix):
    """Send its choices as chunks: role, text, calls, finish with the usage."""

    name = "body-in-stream"
    changes = "`chat.completion` in place of a stream -> chunks"
    why = "Clients look for deltas and show nothing."
    providers = ("Workers AI (GPT-OSS)", "Lemonade", "servers that ignore `stream`")
    handles = Finding.MESSAGE
    sources = (
        "https://github.com/neomjs/neo/issues/12428",
        "https://github.com/nashsu/llm_wiki/issues/619",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    also_covered_by = ("usage-every-chunk",)
    examples = (
        Example(
            "text",
            [completion(HI)],
            [ROLE, chunk({"content": "Hi"}), {**STOP, "usage": USAGE}],
            ended=False,
        ),
        Example(
            "no reason",
            [completion(HI, finish=None)],
            [ROLE, chunk({"content": "Hi"}), {**STOP, "usage": USAGE}],
            ended=False,
        ),
        Example.untouched(
            "a chunk by name",
            [{**completion(HI, usage=None), "object": "chat.completion.chunk"}],
            ended=False,
        ),
        Example.untouched("a stream", [ROLE, chunk({"content": "Hi"}), STOP]),
        Example.untouched("later", [ROLE, completion(HI)], ended=False),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Return the chunks, if it is the first of its stream and complete."""
        if not is_body(chunk, self.asked, self.seen):
            return None
        return chunks_of(chunk, forced=self.asked.forced_tool)
