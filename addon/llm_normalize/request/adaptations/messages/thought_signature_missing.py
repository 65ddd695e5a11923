"""A call without its thought signature, which Gemini wants to have back."""

from ....wire.json_text import Json
from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced
from ...message_forms import listed, with_messages

_WORDS = (
    b'[{"error":{"message":"Function call is missing a thought_signature in functionCall '
    b'parts.","status":"INVALID_ARGUMENT"}}]'
)
_SIGNATURE = "thought_signature"
# What Google documents for calls that another model has made.
_UNKNOWN = {"google": {_SIGNATURE: "skip_thought_signature_validator"}}
_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_SIGNED = {**_CALL, "extra_content": _UNKNOWN}


def _asked(*calls: Json) -> Body:
    return {"messages": [*HI, {"role": "assistant", "tool_calls": [*calls]}]}


class ThoughtSignatureMissing(Adaptation):
    """Put back what the call had, as far as it is remembered, by its id.

    The first call of an answer that nothing is known of gets what Google documents for
    that; the others of an answer have none.
    """

    name = "thought-signature-missing"
    changes = "`tool_calls[]` -> with `extra_content.google.thought_signature`"
    why = "Gemini 3 answers 400 at the turn after a call."
    key = "tool_calls"
    sources = (
        "https://ai.google.dev/gemini-api/docs/thought-signatures",
        "https://github.com/Gitlawb/openclaude/issues/67",
        "https://github.com/AstrBotDevs/AstrBot/issues/9217",
        "https://github.com/BerriAI/litellm/issues/16893",
        "https://github.com/securo-finance/securo/issues/884",
    )
    examples = (
        RequestExample("unknown", _asked(_CALL, _CALL), _asked(_SIGNED, _CALL), _WORDS),
        RequestExample.untouched("its own", _asked(_SIGNED, _CALL), _WORDS),
        RequestExample.untouched("no call", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put them back."""

        def signed(messages: list[Json]) -> list[Json]:
            return [self._with_signatures(each) for each in messages]

        path = "messages[*].tool_calls[*].extra_content"
        return replaced(body, "messages", with_messages(body, signed), path)

    def _with_signatures(self, message: Json) -> Json:
        calls = listed(message.get("tool_calls")) if isinstance(message, dict) else []
        if not calls:
            return message
        made = [
            self._signed(each, is_first=at == 0) if isinstance(each, dict) else each
            for at, each in enumerate(calls)
        ]
        return message if made == calls else {**message, "tool_calls": made}

    def _signed(self, call: dict[str, Json], *, is_first: bool) -> Json:
        if _has_signature(call):
            return call
        known = self.memory.call(call.get("id"))
        if known is not None and _has_signature(known.extra):
            return {**call, **known.extra}
        return {**call, "extra_content": _UNKNOWN} if is_first else call


def _has_signature(value: Json) -> bool:
    if isinstance(value, dict):
        return bool(value.get(_SIGNATURE)) or any(
            key != "function" and _has_signature(each) for key, each in value.items()
        )
    return False
