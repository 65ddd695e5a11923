"""Ids of tool calls, where they have to be nine letters or digits."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced
from ...message_forms import with_messages, with_short_ids

_WORDS = b'{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}'


def _asked(identity: str) -> Body:
    call = {"id": identity, "type": "function", "function": {"name": "f"}}
    return {
        "messages": [
            *HI,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": identity, "content": "sunny"},
        ]
    }


class ToolCallIdRefused(Adaptation):
    """Send nine letters that are made of the id, alike for a call and its result.

    The client keeps its own: it never sees them.
    """

    name = "tool-call-id-refused"
    changes = "`tool_calls[].id`, `tool_call_id` -> nine letters and digits"
    why = "Mistral answers 400, oMLX 500; others refuse ids that are too long."
    key = "tool_call"
    sources = (
        "https://github.com/anomalyco/opencode/issues/1680",
        "https://github.com/nearai/ironclaw/issues/1241",
        "https://github.com/jundot/omlx/pull/1997",
        "https://github.com/mistralai/mistral-vibe/issues/1075",
    )
    examples = (
        RequestExample("OpenAI's", _asked("call_1"), _asked("t8wLHgKZJ"), _WORDS),
        RequestExample.untouched("nine letters", _asked("abcDEF123"), _WORDS),
        RequestExample.untouched("no calls", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace them."""
        path = "messages[*].tool_calls[*].id"
        return replaced(body, "messages", with_messages(body, with_short_ids), path)
