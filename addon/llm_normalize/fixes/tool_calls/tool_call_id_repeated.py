"""Two tool calls with one id."""

from ...chat.chunks.chunk import Chunk, calls, index_of, messages
from ...chat.state.stream_state import Asked
from ...repair.fix import Example, Fix, calling, completion, head, rest

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

    def body(self, body: Chunk) -> bool:
        """Rename calls under a taken id."""
        changed = False
        for choice, message in messages(body):
            taken: set[str] = set()
            for at, call in enumerate(calls(message)):
                identity = call.get("id")
                if not isinstance(identity, str) or not identity:
                    continue
                if identity in taken:
                    call["id"] = self.asked.make_id("call_", index_of(choice), at)
                    changed = True
                taken.add(call["id"])
        return changed
