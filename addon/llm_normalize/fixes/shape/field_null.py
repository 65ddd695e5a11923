"""Null fields that OpenAI does not define, or sends only when asked."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.openai_fields import parts
from ...chat.state.stream_state import Asked
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding


class FieldNull(Fix):
    """Drop them where an event is repaired anyway; `usage`, if it was not requested.

    They break nothing by themselves, so they are no reason to touch an event.
    """

    name = "field-null"
    changes = "null fields unknown to OpenAI, in what is repaired anyway -> removed"
    why = "Typed clients decode `reasoning_content: null` and the like as text."
    providers = ("NVIDIA NIM (`stop_reason`)", "SGLang (`matched_stop`)", "vLLM")
    handles = Finding.LEFT_NULL
    sources = (
        "https://github.com/sgl-project/sglang/issues/9657",
        "https://github.com/exo-explore/exo/issues/2092",
    )
    examples = (
        Example.of_event(
            "delta and choice",
            chunk({"content": "Hi", "name": None}, choice={"stop_reason": None}),
            chunk({"content": "Hi"}),
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": "Hi"}, prompt_logprobs=None),
            completion({"role": "assistant", "content": "Hi"}),
        ),
        Example.of_event(
            "usage",
            chunk({"content": "Hi", "name": None}, usage=None),
            chunk({"content": "Hi"}),
        ),
        Example.untouched(
            "fields of OpenAI",
            [chunk({"content": "Hi", "refusal": None}, service_tier=None, usage=None)],
            asked=Asked(stream=True, usage=True),
            ended=False,
        ),
        Example.untouched("value", [chunk({"content": "", "name": "x"})], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the keys."""
        changed = not self.asked.usage and chunk.get("usage", 0) is None
        if changed:
            del chunk["usage"]
        return self._drop(chunk) or changed

    def _drop(self, chunk: Chunk) -> bool:
        changed = False
        for part, known in parts(chunk):
            for key in _nulls(part, known):
                del part[key]
                changed = True
        return changed

    def body(self, body: Chunk) -> bool:
        """Drop the keys."""
        return self._drop(body)


def _nulls(part: Chunk, known: frozenset[str]) -> list[str]:
    return [key for key, value in part.items() if value is None and key not in known]
