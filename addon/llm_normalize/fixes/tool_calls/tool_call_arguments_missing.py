"""A tool call that ends without any arguments."""

from ...chat.chunks.chunk import Chunk, calls, envelope_of, function, messages
from ...chat.chunks.chunk_content import is_hollow
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Fix, calling, chunk, completion, head, rest
from ...repair.outcome import Outgoing

_END = chunk({}, finish="tool_calls")
_BARE = {**head(), "function": {"name": "f"}}


class ToolCallArgumentsMissing(Fix):
    """Send `{}`, which OpenAI sends for a call without any.

    In a stream with the finish reason: more may follow until that is sent.
    """

    name = "tool-call-arguments-missing"
    changes = 'call without arguments at its end -> `"{}"`'
    why = "Clients parse the arguments, and an empty string is no JSON."
    providers = ("GitHub Copilot", "Venice", "Mistral")
    sources = (
        "https://github.com/vercel/ai/issues/6687",
        "https://platform.openai.com/docs/guides/function-calling",
    )
    end_hooks = (EndHook.CLOSED_CALLS,)
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

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Send `{}` for each call that the finish in *outgoing* ends.

        Nothing where an error cut the call short, or they may have been lost: its arguments
        are not known.
        """
        if end.seen.error or end.may_lack:
            return False
        for index, at, call in end.hollow_calls(outgoing.chunk):
            call.add("{}")
            delta = {"tool_calls": [{"index": at, "function": {"arguments": "{}"}}]}
            choice = {"index": index, "delta": delta, "finish_reason": None}
            chunk = {**envelope_of(outgoing.chunk), "choices": [choice]}
            end.send_before(outgoing, chunk, self.name)
        return False
