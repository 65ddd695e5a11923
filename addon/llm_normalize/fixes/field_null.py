"""Null fields that OpenAI does not define."""

from ..chunk import Chunk
from ..fields import parts
from ..fix import Example, Fix, chunk, completion


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
        for part, known in parts(chunk):
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
