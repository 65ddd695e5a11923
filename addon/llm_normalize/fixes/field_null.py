"""Null fields that OpenAI does not define."""

from collections.abc import Iterator

from ..chunk import Chunk, choices
from ..fix import Example, Fix, chunk, completion

_CHUNK = frozenset(
    [
        "id",
        "object",
        "created",
        "model",
        "choices",
        "usage",
        "service_tier",
        "system_fingerprint",
        "obfuscation",
        "moderation",
        "metadata",
        "error",
    ]
)
_CHOICE = frozenset(["index", "delta", "message", "logprobs", "finish_reason"])
_MESSAGE = frozenset(
    ["role", "content", "refusal", "tool_calls", "function_call", "audio"]
)


def _parts(chunk: Chunk) -> Iterator[tuple[Chunk, frozenset[str]]]:
    """Yield the objects of *chunk* with the keys that OpenAI defines for them."""
    yield chunk, _CHUNK
    for choice in choices(chunk):
        yield choice, _CHOICE
        for key in ("delta", "message"):
            part = choice.get(key)
            if isinstance(part, dict):
                yield part, _MESSAGE


class FieldNull(Fix):
    """Drop null fields that OpenAI does not define, where an event is mended anyway.

    They break nothing by themselves, so they are no reason to touch an event.
    """

    name = "field-null"
    changes = "null fields unknown to OpenAI, in what is repaired anyway -> removed"
    why = "Typed clients decode `reasoning_content: null` and the like as text."
    providers = ("NVIDIA NIM (`stop_reason`)", "SGLang (`matched_stop`)", "vLLM")
    sources = (
        "https://github.com/sgl-project/sglang/issues/9657",
        "https://github.com/exo-explore/exo/issues/2092",
    )
    rides = True
    examples = (
        Example(
            "delta and choice",
            [chunk({"content": "Hi", "name": None}, choice={"stop_reason": None})],
            [chunk({"content": "Hi"})],
            ended=False,
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": "Hi"}, prompt_logprobs=None),
            completion({"role": "assistant", "content": "Hi"}),
        ),
        Example.untouched(
            "fields of OpenAI",
            [chunk({"content": "Hi", "refusal": None}, service_tier=None, usage=None)],
            ended=False,
        ),
        Example.untouched("value", [chunk({"content": "", "name": "x"})], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        changed = False
        for part, known in _parts(chunk):
            empty = [
                key for key, value in part.items() if value is None and key not in known
            ]
            for key in empty:
                del part[key]
                changed = True
        return changed

    def body(self, body: Chunk) -> bool:
        """Drop the keys."""
        return self.edit(body)
