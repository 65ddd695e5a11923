"""Events that a repair left without anything to say."""

from ..chunk import Chunk, choices
from ..fix import DONE, Example, Fix, chunk

_ENVELOPE = frozenset(
    [
        "id",
        "object",
        "created",
        "model",
        "choices",
        "service_tier",
        "system_fingerprint",
        "obfuscation",
    ]
)
_CHOICE = frozenset(["index", "delta", "finish_reason", "logprobs"])


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
        if not chunk["choices"] or _says_more(chunk, _ENVELOPE):
            return None
        for choice in choices(chunk):
            if (
                choice.get("delta")
                or choice.get("finish_reason")
                or choice.get("logprobs")
                or _says_more(choice, _CHOICE)
            ):
                return None
        return []


def _says_more(part: Chunk, known: frozenset[str]) -> bool:
    return any(value is not None and key not in known for key, value in part.items())
