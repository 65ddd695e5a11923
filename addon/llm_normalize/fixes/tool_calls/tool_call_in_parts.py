"""Two fragments of one tool call in one chunk."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.chunk_split import part_calls
from ...repair.fix import Example, Fix, calling, head, rest
from ...repair.look import Finding


class ToolCallInParts(Fix):
    """Send a chunk for each fragment, as OpenAI does."""

    name = "tool-call-in-parts"
    changes = "fragments of one call in one chunk -> a chunk each"
    why = "Clients that open a call for each entry of a chunk make two of one."
    providers = ("gateways that join chunks",)
    handles = Finding.ODD_CALLS
    sources = (
        "https://platform.openai.com/docs/guides/function-calling#streaming",
        "https://github.com/vercel/ai/issues/15879",
    )
    examples = (
        Example(
            "head and rest",
            [calling(head(), rest())],
            [calling(head()), calling(rest())],
            ended=False,
        ),
        Example.untouched("two calls", [calling(head(0), head(1))]),
        Example.untouched("one each", [calling(head()), calling(rest())]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, one fragment each."""
        return part_calls(chunk)
