"""A tool call that ends without any arguments."""

from ...chat.chunks.chunk import Chunk, calls, function, messages
from ...chat.chunks.chunk_content import is_hollow
from ...repair.fix import DONE, Example, Fix, calling, chunk, completion, head, rest

_END = chunk({}, finish="tool_calls")
_BARE = {**head(), "function": {"name": "f"}}


class ToolCallArgumentsMissing(Fix):
    """Send `{}`, which OpenAI sends for a call without any.

    In a stream with the finish reason: more may follow until that is sent.
    """

    name = "tool-call-arguments-missing"
    changes = 'call without arguments at its end -> `"{}"`'
    why = "Clients parse the arguments, and an empty string is invalid JSON."
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
            # What says nothing at all is no call.
            found = [function(call) for call in calls(message) if not is_hollow(call)]
            if isinstance(legacy, dict) and not (
                "name" in legacy and is_hollow(legacy)
            ):
                found.append(legacy)
            for inner in found:
                if inner and not inner.get("arguments"):
                    inner["arguments"] = "{}"
                    changed = True
        return changed
