"""`refusal: null` in messages, as OpenAI's own answers have it."""

from ....wire.json_text import Json
from ...adaptation import DROPPED, Adaptation, Body, Edit, RequestExample, messages


def _asked(**more: Json) -> Body:
    return {"messages": [{"role": "assistant", "content": "Hi", **more}]}


class MessageRefusalNull(Adaptation):
    """Drop it: it says that nothing was refused."""

    name = "message-refusal-null"
    changes = "`messages[].refusal: null` -> removed"
    why = "OpenCode answers 400: `Extra inputs are not permitted`."
    hosts = ("opencode.ai",)
    key = "refusal"
    sources = ("https://github.com/github/app/issues/2903",)
    examples = (
        RequestExample("null", _asked(refusal=None), _asked()),
        RequestExample.untouched("a refusal", _asked(refusal="No.")),
        RequestExample.untouched("without", _asked()),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it where it is null."""
        found = [each for each in messages(body) if each.get("refusal", "") is None]
        for each in found:
            del each["refusal"]
        return [(DROPPED, "messages[*].refusal")] if found else []
