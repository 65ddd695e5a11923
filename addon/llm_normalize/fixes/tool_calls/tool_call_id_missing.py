"""Tool calls without an id, or with an empty one."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, index_of, messages
from ...chat.state.stream_state import Asked
from ...repair.fix import Example, Fix, calling, completion, head
from ...repair.look import Finding

_MADE = head(id="call_4a31f3538925bbcbda013611")
_ZERO = Asked(stream=True, id="0")


class ToolCallIdMissing(Fix):
    """Make one up, that no other call has; the client sends it back with the result."""

    name = "tool-call-id-missing"
    changes = '`tool_calls[].id` missing, null or `""` at its opening -> made up'
    why = "Clients file the result under the id, and are refused with an empty one."
    providers = ("Gemini", "Workers AI", "GLM proxies", "Ollama")
    handles = Finding.NAMED_CALL
    sources = (
        "https://github.com/huggingface/tau/issues/715",
        "https://platform.openai.com/docs/guides/function-calling",
    )
    examples = (
        Example.of_event("null", calling(head(id=None)), calling(_MADE), asked=_ZERO),
        Example(
            "body",
            [completion({"role": "assistant", "tool_calls": [head(id="")]})],
            [completion({"role": "assistant", "tool_calls": [_MADE]})],
            asked=Asked(id="0"),
            kind="body",
        ),
        Example.untouched("there", [calling(head())]),
        Example.untouched("later", [calling(head()), calling({"index": 0})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Name the calls that open."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            for call in calls(delta):
                at = index_of(call)
                opens = function(call).get("name") and at not in known
                if opens and not call.get("id"):
                    call["id"] = self.asked.make_id("call_", index, at)
                    changed = True
        return changed

    def body(self, body: Chunk) -> bool:
        """Name the calls."""
        changed = False
        for choice, message in messages(body):
            for at, call in enumerate(calls(message)):
                if not call.get("id"):
                    call["id"] = self.asked.make_id("call_", index_of(choice), at)
                    changed = True
        return changed
