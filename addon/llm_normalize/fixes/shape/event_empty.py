"""Events that a repair left without anything to say."""

from ...chat.chunks.chunk import Chunk, choices, index_of
from ...chat.chunks.chunk_content import is_empty_chunk
from ...chat.errors.chunk_errors import take_errors
from ...repair.fix import DONE, TEXT, Example, Fix, chunk
from ...repair.look import Finding


class EventEmpty(Fix):
    """Drop an event that is empty after its repair.

    One that was empty before stays: the provider may keep the connection alive with it.
    """

    name = "event-empty"
    changes = "event that a repair left empty -> dropped"
    why = "OpenAI sends no chunk with `delta: {}` and no finish reason."
    providers = ("SGLang", "DeepSeek")
    handles = Finding.LEFT_EMPTY | Finding.LEFT_ERROR
    sources = ("https://github.com/coderGtm/yantra-app-launcher/issues/545",)
    examples = (
        Example("empty", [TEXT, chunk({})], [TEXT], ended=False),
        Example.untouched("first of its choice", [chunk({})]),
        Example.untouched("finish reason", [TEXT, chunk({}, finish="stop"), DONE]),
        Example.untouched("text", [TEXT, chunk({"content": ""})]),
        Example.untouched("something unknown", [TEXT, chunk({}, timings=[1])]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Drop the chunk if nothing in it says anything; words alone are an error."""
        errors: list[Chunk] = [{"error": each} for each in take_errors(chunk)]
        opened = all(index_of(each) in self.seen.choices for each in choices(chunk))
        if not (opened and is_empty_chunk(chunk)):
            return [chunk, *errors] if errors else None
        return errors
