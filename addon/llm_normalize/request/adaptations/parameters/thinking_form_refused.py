"""Thinking that is asked for in the form of another generation of models."""

from ....wire.json_text import Json, whole_number
from ...adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    replaced,
)

ADAPTIVE, ENABLED = "adaptive", "enabled"
_LIMITS = ("max_tokens", "max_completion_tokens")
_LEAST = 1024
"""Tokens of the smallest budget."""
_OLD = {"type": "enabled", "budget_tokens": 8000}
_NEW = {"type": "adaptive", "display": "summarized"}
_WANTS_NEW = (
    b'{"error":{"message":"\\"thinking.type.enabled\\" is not supported for this model. Use '
    b'\\"thinking.type.adaptive\\" and \\"output_config.effort\\" to control thinking '
    b'behavior."}}'
)
_WANTS_OLD = (
    b'{"error":{"message":"thinking: Input tag \'adaptive\' found using \'type\' does not '
    b"match any of the expected tags: 'disabled', 'enabled'\"}}"
)


class ThinkingFormRefused(Adaptation):
    """Ask for it in the form that the refusal names.

    A budget has no place in the new form, which tells no thoughts unless it is asked to; in
    the old one it is half of what may be said, or thinking is off where that is too little.
    """

    name = "thinking-form-refused"
    changes = "`thinking` -> `adaptive` or `enabled`, as the refusal asks for it"
    why = "Claude takes `adaptive` alone from Opus 4.7 on; older models know nothing of it."
    needs_value = True
    key = "thinking"
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/anomalyco/opencode/issues/23007",
        "https://github.com/Sylinko/Everywhere/issues/410",
        "https://github.com/openclaw/openclaw/issues/87801",
    )
    examples = (
        RequestExample(
            "the new form",
            {"messages": HI, "max_tokens": 9000, "thinking": _OLD},
            {"messages": HI, "max_tokens": 9000, "thinking": _NEW},
            _WANTS_NEW,
        ),
        RequestExample(
            "the old form",
            {"messages": HI, "max_tokens": 9000, "thinking": _NEW},
            {
                "messages": HI,
                "max_tokens": 9000,
                "thinking": {"type": "enabled", "budget_tokens": 4500},
            },
            _WANTS_OLD,
        ),
        RequestExample(
            "the old form, without room",
            {"messages": HI, "max_tokens": 1024, "thinking": _NEW},
            {"messages": HI, "max_tokens": 1024, "thinking": {"type": "disabled"}},
            _WANTS_OLD,
        ),
        RequestExample.untouched(
            "off", {"messages": HI, "thinking": {"type": "disabled"}}, _WANTS_NEW
        ),
        RequestExample.untouched("none", {"messages": HI}, _WANTS_NEW),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Change it."""
        given = body.get("thinking")
        kind = given.get("type") if isinstance(given, dict) else None
        if self.value == ADAPTIVE and kind == ENABLED:
            made = {"type": ADAPTIVE, "display": "summarized"}
            return replaced(body, "thinking", made)
        if self.value == ENABLED and kind == ADAPTIVE:
            limits = map(whole_number, map(body.get, _LIMITS))
            budget = next(filter(None, limits), 0) // 2
            off: Json = {"type": "disabled"}
            old: Json = {"type": ENABLED, "budget_tokens": budget}
            return replaced(body, "thinking", old if budget >= _LEAST else off)
        return []
