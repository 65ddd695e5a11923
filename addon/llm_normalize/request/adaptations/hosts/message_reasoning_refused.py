"""`reasoning_content` in messages: an answer's thoughts, sent back."""

from ....wire.json_text import Json
from ...adaptation import DROPPED, Adaptation, Body, Edit, RequestExample, messages


def _asked(role: str = "assistant", **more: Json) -> Body:
    return {"messages": [{"role": role, "content": "Hi", **more}]}


class MessageReasoningRefused(Adaptation):
    """Drop it: thoughts of the turns before are not asked for."""

    name = "message-reasoning-refused"
    changes = "`messages[].reasoning_content` -> removed"
    why = "Groq answers 400 and Mistral 422 at the second turn."
    hosts = ("api.groq.com", "api.mistral.ai")
    key = "reasoning_content"
    sources = (
        "https://github.com/janhq/jan/issues/8136",
        "https://github.com/tashfeenahmed/freellmapi/issues/1070",
        "https://github.com/charmbracelet/crush/issues/1590",
    )
    examples = (
        RequestExample("thoughts", _asked(reasoning_content="Hm."), _asked()),
        RequestExample.untouched("without", _asked()),
        RequestExample.untouched("a user's", _asked("user", reasoning_content="Hm.")),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        found = [
            each for each in messages(body, "assistant") if "reasoning_content" in each
        ]
        for each in found:
            del each["reasoning_content"]
        return [(DROPPED, "messages[*].reasoning_content")] if found else []
