"""`tool_calls` or `function_call` is null, or an empty list, where there is no call."""

from ...chat.chunks.chunk import Chunk
from ...repair.fix import Example, PartFix, calling, chunk, completion, head
from ...repair.look import Finding


class ToolCallsNull(PartFix):
    """Leave the keys out where there is no call, as OpenAI does."""

    name = "tool-calls-null"
    changes = "`tool_calls: null` or `[]`, `function_call: null` -> removed"
    why = "Iterating over null raises; strict schemas want an array or no key."
    providers = ("SGLang", "exo", "Bedrock gateways", "LiteLLM", "vLLM 0.6 (`[]`)")
    handles = Finding.NULL_CALLS
    sources = (
        "https://github.com/sgl-project/sglang/issues/9657",
        "https://github.com/exo-explore/exo/issues/2092",
        "https://github.com/aws-samples/bedrock-access-gateway/issues/21",
    )
    examples = (
        Example.of_event(
            "null",
            chunk({"content": "Hi", "tool_calls": None, "function_call": None}),
            chunk({"content": "Hi"}),
        ),
        Example.of_event(
            "empty list",
            chunk({"content": "Hi", "tool_calls": []}),
            chunk({"content": "Hi"}),
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": "Hi", "tool_calls": []}),
            completion({"role": "assistant", "content": "Hi"}),
        ),
        Example.untouched("call", [calling(head())], ended=False),
    )

    def part(self, part: Chunk) -> bool:
        """Drop the keys."""
        empty = [
            key
            for key in ("tool_calls", "function_call")
            if key in part and not part[key]
        ]
        for key in empty:
            del part[key]
        return bool(empty)
