"""A whole answer, `chat.completion`, where a stream was asked for."""

from ..chunk import Chunk, choices, usage_of
from ..conversion import chunks_of
from ..fix import USAGE, Example, Fix, chunk, completion

_HI = {"role": "assistant", "content": "Hi"}
_OPEN = chunk({"role": "assistant", "content": ""})
_STOP = chunk({}, finish="stop")


class BodyInStream(Fix):
    """Send its choices as chunks: role, text, calls, finish; then the usage."""

    name = "body-in-stream"
    changes = "`chat.completion` in place of a stream -> chunks"
    why = "Clients look for deltas and show nothing."
    providers = ("Workers AI (GPT-OSS)", "Lemonade", "servers that ignore `stream`")
    key = "message"
    sources = (
        "https://github.com/neomjs/neo/issues/12428",
        "https://github.com/nashsu/llm_wiki/issues/619",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    examples = (
        Example(
            "text",
            [completion(_HI)],
            [_OPEN, chunk({"content": "Hi"}), _STOP, chunk(None, usage=USAGE)],
            ended=False,
        ),
        Example(
            "no reason",
            [completion(_HI, finish=None)],
            [_OPEN, chunk({"content": "Hi"}), _STOP, chunk(None, usage=USAGE)],
            ended=False,
        ),
        Example.untouched(
            "a chunk by name",
            [{**completion(_HI, usage=None), "object": "chat.completion.chunk"}],
            ended=False,
        ),
        Example.untouched("a stream", [_OPEN, chunk({"content": "Hi"}), _STOP]),
        Example.untouched("later", [_OPEN, completion(_HI)], ended=False),
    )

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Return the chunks, if it is the first of its stream and complete."""
        found = choices(chunk)
        if self.seen.choices or not all(map(_is_message, found)) or not found:
            return None
        kind, usage = chunk.get("object"), usage_of(chunk)
        ended = all(choice.get("finish_reason") for choice in found)
        if kind == "chat.completion.chunk" and not usage:
            ended = False  # there are servers that put a reason on every chunk
        # An event without a field name is a whole body, one with usage has ended.
        whole = self.seen.is_value or usage
        if not ended and not (kind == "chat.completion" and whole):
            return None
        return chunks_of(chunk, forced=self.asked.forced_tool)


def _is_message(choice: Chunk) -> bool:
    return isinstance(choice.get("message"), dict) and not choice.get("delta")
