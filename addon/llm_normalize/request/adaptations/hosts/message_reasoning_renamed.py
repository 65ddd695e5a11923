"""`reasoning_content` in messages, where it is called `reasoning`."""

from ....wire.json_text import Json
from ...adaptation import (
    CHANGED,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    messages,
    renamed,
)

_OLD, _NEW = "reasoning_content", "reasoning"


def _asked(**more: Json) -> Body:
    return {"messages": [{"role": "assistant", "content": "Hi", **more}]}


class MessageReasoningRenamed(Adaptation):
    """Give an answer's thoughts the name that the provider gives them."""

    name = "message-reasoning-renamed"
    changes = "`messages[].reasoning_content` -> `reasoning`"
    why = "Cerebras answers 400, `wrong_api_format`, at the second turn."
    hosts = ("api.cerebras.ai",)
    key = _OLD
    sources = (
        "https://github.com/QwenLM/qwen-code/issues/11045",
        "https://github.com/Kilo-Org/kilocode/issues/10375",
        "https://github.com/proxysoul/Empryo/pull/209",
    )
    examples = (
        RequestExample(
            "thoughts", _asked(reasoning_content="Hm."), _asked(reasoning="Hm.")
        ),
        RequestExample(
            "both",
            _asked(reasoning="Hm.", reasoning_content="Hm."),
            _asked(reasoning="Hm."),
        ),
        RequestExample.untouched("its own", _asked(reasoning="Hm.")),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Rename it."""
        found = [each for each in messages(body, "assistant") if _OLD in each]
        for each in found:
            if _NEW in each:
                del each[_OLD]
            else:
                renamed(each, _OLD, _NEW)
        return [(CHANGED, f"messages[*].{_OLD}")] if found else []
