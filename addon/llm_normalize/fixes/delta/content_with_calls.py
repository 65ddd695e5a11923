"""Text and a tool call in one delta."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.chunk_split import part_text
from ...repair.fix import Example, Fix, calling, chunk, head
from ...repair.look import Finding

_TEXT_DELTA = {"role": "assistant", "content": "Let me see."}
_BOTH = {**_TEXT_DELTA, "tool_calls": [head()]}
_TEXT = chunk(_TEXT_DELTA)


class ContentWithCalls(Fix):
    """Send the text first, in a chunk of its own."""

    name = "content-with-calls"
    changes = "text beside a tool call -> a chunk of its own before it"
    why = "Continue takes the text from such a delta, and loses the call's id and name."
    providers = ("SGLang", "Mistral", "gateways that join chunks")
    handles = Finding.TEXT_AND_CALLS
    sources = (
        "https://github.com/continuedev/continue/tree/main/packages/openai-adapters",
        "https://platform.openai.com/docs/guides/function-calling#streaming",
    )
    examples = (
        Example("both", [chunk(_BOTH)], [_TEXT, calling(head())], ended=False),
        Example(
            "log probabilities",
            [chunk(_BOTH, logprobs={"content": []})],
            [
                chunk(_TEXT_DELTA, logprobs={"content": []}),
                chunk({"tool_calls": [head()]}, logprobs=None),
            ],
            ended=False,
        ),
        Example.untouched("apart", [_TEXT, calling(head())], ended=False),
        Example.untouched(
            "no text",
            [chunk({"role": "assistant", "content": "", "tool_calls": [head()]})],
            ended=False,
        ),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk."""
        return part_text(chunk)
