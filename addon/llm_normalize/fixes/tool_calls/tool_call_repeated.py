"""A complete tool call that is sent again."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, index_of, put_calls
from ...chat.tool_calls.sent_call import Call, brief
from ...repair.fix import Example, Fix, calling, chunk, head
from ...repair.look import Finding

_CALL = calling(head(0, "{}"))


class ToolCallRepeated(Fix):
    """Send a call once: the same id, and all its arguments word for word."""

    name = "tool-call-repeated"
    changes = "the same call with the same arguments again -> removed"
    why = "Clients add the arguments up, and they are no JSON any more."
    providers = ("Perplexity", "servers that repeat a message in each chunk")
    handles = Finding.CALLS
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/12233",
        "https://github.com/MacPaw/OpenAI/issues/317",
    )
    also_covered_by = ("tool-call-head-repeated", "tool-call-arguments-repeated")
    examples = (
        Example("again", [_CALL, _CALL], [_CALL, chunk({})], ended=False),
        Example.untouched("another", [_CALL, calling(head(1, "{}"))]),
        Example.untouched("more of it", [_CALL, calling(head(0, " "))]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the calls that were sent."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            found = calls(delta)
            remaining = [
                call
                for call in found
                if not _is_repeated(known.get(index_of(call)), call)
            ]
            if len(remaining) < len(found):
                changed = True
                put_calls(delta, remaining)
        return changed


def _is_repeated(opened: Call | None, call: Chunk) -> bool:
    if opened is None or not call.get("id") or brief(call["id"]) != opened.id:
        return False
    arguments = function(call).get("arguments")
    if not isinstance(arguments, str) or arguments[:1] + arguments[-1:] != "{}":
        return False
    return opened.has_arguments(arguments)
