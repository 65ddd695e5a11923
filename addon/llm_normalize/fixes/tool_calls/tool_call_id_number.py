"""A tool call's `id` as a number."""

from ...chat.chunks.chunk import Chunk, calls, change_all, deltas, messages
from ...repair.fix import Example, Fix, calling, completion, head
from ...repair.look import Finding
from ...wire.json_text import Number

_SEVEN = head(id="7")


class ToolCallIdNumber(Fix):
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
        Example.of_event("stream", calling(head(id=7)), calling(_SEVEN)),
        Example.of_body(
            "body",
            completion({"role": "assistant", "tool_calls": [head(id=7)]}),
            completion({"role": "assistant", "tool_calls": [_SEVEN]}),
        ),
        Example.untouched("text", [calling(_SEVEN)]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Repair the fragments."""
        found = [call for _, _, delta in deltas(chunk) for call in calls(delta)]
        return change_all(_spell, found)

    def body(self, body: Chunk) -> bool:
        """Repair the calls."""
        found = [call for _, message in messages(body) for call in calls(message)]
        return change_all(_spell, found)


def _spell(call: Chunk) -> bool:
    given = call.get("id")
    if isinstance(given, bool) or not isinstance(given, int | Number):
        return False
    call["id"] = given.text if isinstance(given, Number) else str(given)
    return True
