"""A tool call that ends without any arguments."""

from ...chat.chunks.chunk import Chunk, calls, function, messages
from ...chat.chunks.chunk_content import is_hollow
from ...chat.chunks.finish_words import CUT_SHORT
from ...repair.fix import DONE, Example, Fix, calling, chunk, completion, head, rest

_END = chunk({}, finish="tool_calls")
_LENGTH = chunk({}, finish="length")
_BARE = {**head(), "function": {"name": "f"}}

_NONE = {"role": "assistant", "content": None, "tool_calls": [_BARE]}


class ToolCallArgumentsMissing(Fix):
    """Send `{}`, which OpenAI sends for a call without any.

    In a stream with the finish reason: more may follow until that is sent. An answer that
    the limit of tokens or a filter ends may lack them: its call stays without any.
    """

    name = "tool-call-arguments-missing"
    changes = 'call without arguments at its end, unless cut short -> `"{}"`'
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
        Example.of_body(
            "body that is cut short",
            completion(_NONE, finish="length"),
            completion(
                {**_NONE, "tool_calls": [head(0, "")]},
                finish="length",
            ),
        ),
        Example.untouched("there", [calling(head()), calling(rest()), _END, DONE]),
        Example.untouched("broken off", [calling(head())]),
        Example.untouched("cut short", [calling(head()), _LENGTH, DONE]),
    )

    def body(self, body: Chunk) -> bool:
        """Complete the calls."""
        changed = False
        for choice, message in messages(body):
            empty = "" if choice.get("finish_reason") in CUT_SHORT else "{}"
            legacy = message.get("function_call")
            # What says nothing at all is no call.
            found = [function(call) for call in calls(message) if not is_hollow(call)]
            if isinstance(legacy, dict) and not (
                "name" in legacy and is_hollow(legacy)
            ):
                found.append(legacy)
            for inner in found:
                given = inner.get("arguments")
                if inner and not given and given != empty:
                    inner["arguments"] = empty
                    changed = True
        return changed
