"""Two tool calls with one id."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, index_of, messages
from ...chat.stream_state import Asked
from ...chat.tool_calls.sent_call import brief
from ...repair.fix import Example, Fix, calling, completion, head, rest
from ...repair.look import Finding

_A = head(0, id="call_a")
_B = head(1, id="call_a")
_MADE = head(1, id="call_8dc72de804b37485952af787")
_ZERO = Asked(stream=True, id="0")


class ToolCallIdRepeated(Fix):
    """Give the second one an id of its own."""

    name = "tool-call-id-repeated"
    changes = "the id of a call on another call -> made up"
    why = "Clients file two results under one id, and the next turn is refused."
    providers = ("gateways that name calls after their function",)
    handles = Finding.CALLS
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/8259",
        "https://platform.openai.com/docs/guides/function-calling",
    )
    examples = (
        Example(
            "stream",
            [calling(_A), calling(_B), calling(rest(1))],
            [calling(_A), calling(_MADE), calling(rest(1))],
            asked=_ZERO,
            ended=False,
        ),
        Example(
            "body",
            [completion({"role": "assistant", "tool_calls": [_A, _B]})],
            [completion({"role": "assistant", "tool_calls": [_A, _MADE]})],
            asked=Asked(id="0"),
            kind="body",
        ),
        Example.untouched("two", [calling(_A), calling(head(1, id="call_b"))]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Rename calls that open under a taken id, and what continues them under it."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            taken = {str(each.id) for each in known.values()}
            for call in calls(delta):
                at, due = index_of(call), bool(function(call).get("name"))
                if at in known:  # it goes on, maybe under the id that was sent first
                    due = known[at].id == self._made(index, at) != call.get("id")
                changed |= due and self._rename(call, taken, index, at)
        return changed

    def body(self, body: Chunk) -> bool:
        """Rename calls under a taken id."""
        changed = False
        for choice, message in messages(body):
            taken: set[str] = set()
            for at, call in enumerate(calls(message)):
                changed |= self._rename(call, taken, index_of(choice), at)
        return changed

    def _rename(self, call: Chunk, taken: set[str], index: int, at: int) -> bool:
        identity = call.get("id")
        if not isinstance(identity, str) or not identity:
            return False
        repeated = str(brief(identity)) in taken
        if repeated:
            call["id"] = self._made(index, at)
        taken.add(str(brief(call["id"])))
        return repeated

    def _made(self, index: int, at: int) -> str:
        return self.asked.make_id("call_", index, at)
