"""`content: null` beside tool calls, where only a string is understood."""

from ....wire.json_text import Json
from ...adaptation import CHANGED, Adaptation, Body, Edit, RequestExample, messages

_CALLS = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]


def _asked(**message: Json) -> Body:
    return {"messages": [{"role": "assistant", **message, "tool_calls": _CALLS}]}


class AssistantContentNull(Adaptation):
    """Say an empty string."""

    name = "assistant-content-null"
    changes = '`content: null` of an assistant\'s message -> `""`'
    why = "Workers AI answers 400, `Bad input`, at the turn after a tool call."
    hosts = ("api.cloudflare.com",)
    key = "null"
    sources = (
        "https://github.com/cloudflare/cloudflare-os/issues/54",
        "https://github.com/TencentCloud/TencentDB-Agent-Memory/issues/1313",
    )
    examples = (
        RequestExample("null", _asked(content=None), _asked(content="")),
        RequestExample.untouched("a text", _asked(content="Hi")),
        RequestExample.untouched("without", _asked()),
        RequestExample.untouched(
            "a user's", {"messages": [{"role": "user", "content": None}]}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace null."""
        found = [
            each
            for each in messages(body, "assistant")
            if each.get("content", "") is None
        ]
        for each in found:
            each["content"] = ""
        return [(CHANGED, "messages[*].content")] if found else []
