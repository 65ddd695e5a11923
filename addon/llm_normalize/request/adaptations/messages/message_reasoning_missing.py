"""An answer without its reasoning, which a thinking model wants to have back."""

from ....wire.json_text import Json
from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced
from ...message_forms import calls_of, role_of, text_of, with_messages

_KEY = "reasoning_content"
_WORDS = (
    b'{"error":{"message":"The `reasoning_content` in the thinking mode must be passed '
    b'back to the API."}}'
)
_BLANK = " "


def _asked(**more: Json) -> Body:
    return {"messages": [*HI, {"role": "assistant", "content": "Hello", **more}, *HI]}


class MessageReasoningMissing(Adaptation):
    """Put back what the answer had.

    If the client has it under another name, that; else what is remembered, by the id of a
    call or by the text of an answer without calls; else a blank, which DeepSeek takes.
    """

    name = "message-reasoning-missing"
    changes = "an answer without `reasoning_content` -> with that, or with a blank"
    why = "DeepSeek and Kimi answer 400 while they think."
    key = "assistant"
    sources = (
        "https://github.com/continuedev/continue/issues/12691",
        "https://github.com/RooCodeInc/Roo-Code/issues/12195",
        "https://github.com/bytedance/deer-flow/issues/3043",
        "https://github.com/anomalyco/opencode/issues/24083",
        "https://github.com/agentscope-ai/QwenPaw/issues/433",
    )
    examples = (
        RequestExample("unknown", _asked(), _asked(reasoning_content=" "), _WORDS),
        RequestExample(
            "by another name",
            _asked(reasoning="Hm."),
            _asked(reasoning="Hm.", reasoning_content="Hm."),
            _WORDS,
        ),
        RequestExample.untouched("its own", _asked(reasoning_content="Hm."), _WORDS),
        RequestExample.untouched("a user's", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put it back."""

        def thought(messages: list[Json]) -> list[Json]:
            return [self._with_reasoning(each) for each in messages]

        path = f"messages[*].{_KEY}"
        return replaced(body, "messages", with_messages(body, thought), path)

    def _with_reasoning(self, message: Json) -> Json:
        if role_of(message) != "assistant" or message.get(_KEY):
            return message
        own = message.get("reasoning")
        if not (isinstance(own, str) and own):
            own = self._remembered(message)
        return {**message, _KEY: own or _BLANK}

    def _remembered(self, message: dict[str, Json]) -> str:
        calls = calls_of(message)
        found = [self.memory.call(each.get("id")) for each in calls] or [
            self.memory.text(text_of(message.get("content")))
        ]
        return next((each.reasoning for each in found if each and each.reasoning), "")
