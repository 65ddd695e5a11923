"""The id of a tool call."""

from ..chat.chunks.chunk import Chunk, calls, change_all, function, index_of, messages
from ..chat.state.asked import Asked
from ..repair.fix import DeltaFix, Example, Fix, PartFix, called, calling, head, rest
from ..repair.look import Finding
from ..wire.json_text import Number

_SEVEN = head(id="7")


# A tool call's `id` as a number.
class ToolCallIdNumber(PartFix):
    """Send it as text."""

    name = "tool-call-id-number"
    changes = '`tool_calls[].id: 7` -> `"7"`'
    why = "Strict types want a string; adding fragments up raises."
    providers = ("gateways to DeepSeek",)
    handles = Finding.ODD_CALLS
    sources = (
        "https://github.com/AI-Shell-Team/aish/issues/200",
        "https://github.com/OpenRouterTeam/typescript-sdk/issues/164",
    )
    examples = (
        Example.of_fragment("stream", head(id=7), _SEVEN),
        Example.of_call("body", head(id=7), _SEVEN),
        Example.untouched("text", [calling(_SEVEN)]),
    )

    def part(self, part: Chunk) -> bool:
        """Repair the calls."""
        return change_all(_spell, calls(part))


def _spell(call: Chunk) -> bool:
    given = call.get("id")
    if isinstance(given, bool) or not isinstance(given, int | Number):
        return False
    call["id"] = given.text if isinstance(given, Number) else str(given)
    return True


_A = head(0, id="call_a")
_B = head(1, id="call_a")
_RENAMED = head(1, id="call_8dc72de804b37485952af787")
_ZERO = Asked(stream=True, id="0")


# Two tool calls with one id.
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
            [calling(_A), calling(_RENAMED), calling(rest(1))],
            asked=_ZERO,
        ),
        Example.of_body("body", called(_A, _B), called(_A, _RENAMED), asked=_ZERO),
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


_NAMED = head(id="call_4a31f3538925bbcbda013611")


# Tool calls without an id, or with an empty one.
class ToolCallIdMissing(DeltaFix):
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
        Example.of_fragment("null", head(id=None), _NAMED, asked=_ZERO),
        Example.of_call("body", head(id=""), _NAMED, asked=_ZERO),
        Example.untouched("later", [calling(head()), calling({"index": 0})]),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Name the calls that open."""
        changed, known = False, self.seen.choice(index).calls
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
