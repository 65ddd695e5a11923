"""A tool call that ends without any arguments."""

from ...chat.chunk import Chunk, calls, function, messages
from ...repair.fix import DONE, Example, Fix, calling, chunk, completion, head, rest

_END = chunk({}, finish="tool_calls")
_BARE = {**head(), "function": {"name": "f"}}


class ToolCallArgumentsMissing(Fix):
    """Send `{}`, which OpenAI sends for a call without any.

    In a stream repair/ending/stream_end.py does it, since more may come until the finish has left.
    """

    name = "tool-call-arguments-missing"
    changes = 'call without arguments at its end -> `"{}"`'
    why = "Clients parse the arguments, and an empty string is no JSON."
    providers = ("GitHub Copilot", "Venice", "Mistral")
    sources = (
        "https://github.com/vercel/ai/issues/6687",
        "https://platform.openai.com/docs/guides/function-calling",
    )
    examples = (
        Example(
            "stream",
            [calling(head()), _END, DONE],
            [calling(head()), calling(rest()), _END, DONE],
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "tool_calls": [_BARE]}),
            completion({"role": "assistant", "tool_calls": [head(0, "{}")]}),
        ),
        Example.untouched("there", [calling(head()), calling(rest()), _END, DONE]),
        Example.untouched("broken off", [calling(head())]),
    )

    def body(self, body: Chunk) -> bool:
        """Complete the calls."""
        changed = False
        for _, message in messages(body):
            legacy = message.get("function_call")
            found = [function(call) for call in calls(message)]
            for inner in [*found, legacy] if isinstance(legacy, dict) else found:
                if inner and not inner.get("arguments"):
                    inner["arguments"] = "{}"
                    changed = True
        return changed
