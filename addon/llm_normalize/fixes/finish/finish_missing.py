"""No finish reason before `[DONE]`, or in a body."""

from ...chat.chunks.chunk import Chunk, choices
from ...chat.conversion import implied_reason
from ...repair.fix import DONE, STOP, TEXT, Example, Fix, chunk, completion, head

_CALLED = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})


class FinishMissing(Fix):
    """Add the finish reason that the provider's own `[DONE]` implies, or a whole body.

    A stream that ends without `[DONE]` broke off, and gets none.
    """

    name = "finish-missing"
    changes = "`[DONE]` or body without a finish reason -> `stop` or `tool_calls`"
    why = "openai-node's helpers and the AI SDK raise; agents abort the turn."
    providers = ("GLM-5.1 on NVIDIA NIM", "opencode Zen", "Snowflake", "Jan")
    sources = (
        "https://github.com/earendil-works/pi/issues/6226",
        "https://github.com/anomalyco/opencode/issues/43882",
    )
    examples = (
        Example("text", [TEXT, DONE], [TEXT, STOP, DONE]),
        Example(
            "tool call",
            [_CALLED, DONE],
            [_CALLED, chunk({}, finish="tool_calls"), DONE],
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": "Hi"}, finish=None),
            completion({"role": "assistant", "content": "Hi"}),
        ),
        Example.untouched("there", [TEXT, STOP, DONE]),
        Example.untouched("broken off", [TEXT]),
        Example.untouched(
            "error", [TEXT, b'data: {"error":{"message":"Overloaded"}}\n\n', DONE]
        ),
    )

    def body(self, body: Chunk) -> bool:
        """Add the reason that the message implies."""
        open_ones = [
            each for each in choices(body) if each.get("finish_reason") is None
        ]
        for choice in open_ones:
            message = choice.get("message")
            fields = message if isinstance(message, dict) else {}
            forced = self.asked.forced_tool
            choice["finish_reason"] = implied_reason(fields, forced=forced)
        return bool(open_ones)
