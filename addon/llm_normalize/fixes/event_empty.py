"""Events that a repair left without anything to say."""

from ..chunk import Chunk, says_nothing
from ..fix import DONE, Example, Fix, chunk


class EventEmpty(Fix):
    """Drop an event that is empty after its repair.

    One that came empty stays: the provider may keep the connection alive with it.
    """

    name = "event-empty"
    changes = "event that a repair left empty -> dropped"
    why = "OpenAI sends no chunk with `delta: {}` and no finish reason."
    providers = ("SGLang", "DeepSeek")
    sources = ("https://github.com/coderGtm/yantra-app-launcher/issues/545",)
    rides = True
    examples = (
        Example("empty", [chunk({})], [], ended=False),
        Example.untouched(
            "finish reason",
            [chunk({"role": "assistant"}), chunk({}, finish="stop"), DONE],
        ),
        Example.untouched("usage", [chunk({}, usage={"total_tokens": 1})], ended=False),
        Example.untouched("text", [chunk({"content": ""})], ended=False),
        Example.untouched("something unknown", [chunk({}, timings=[1])], ended=False),
    )

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Drop the chunk if nothing in it says anything."""
        return [] if says_nothing(chunk) else None
