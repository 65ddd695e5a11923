"""A limit of tokens above what the model may answer."""

from ....wire.json_text import whole_number
from ...adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    replaced,
)

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_WORDS = (
    b'{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is '
    b'[1, 8192]"}}'
)


class MaxTokensTooLarge(Adaptation):
    """Send the highest limit that the refusal names."""

    name = "max-tokens-too-large"
    changes = "`max_tokens`, `max_completion_tokens`, `max_output_tokens` -> the highest that is taken"
    why = "Each model has a limit of its own, and answers 400 above it."
    needs_value = True
    key = "max_"
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/Alishahryar1/free-claude-code/issues/955",
        "https://github.com/nickscamara/open-deep-research/issues/19",
        "https://github.com/open-webui/open-webui/issues/10507",
        "https://github.com/AQBot-Desktop/AQBot/issues/93",
    )
    examples = (
        RequestExample(
            "32000",
            {"messages": HI, "max_tokens": 32000},
            {"messages": HI, "max_tokens": 8192},
            _WORDS,
        ),
        RequestExample(
            "thinking",
            {
                "messages": HI,
                "max_tokens": 32000,
                "thinking": {"type": "enabled", "budget_tokens": 31999},
            },
            {
                "messages": HI,
                "max_tokens": 8192,
                "thinking": {"type": "enabled", "budget_tokens": 8191},
            },
            _WORDS,
        ),
        RequestExample(
            "less-thinking",
            {
                "messages": HI,
                "max_tokens": 32000,
                "thinking": {"type": "enabled", "budget_tokens": 2000},
            },
            {
                "messages": HI,
                "max_tokens": 8192,
                "thinking": {"type": "enabled", "budget_tokens": 2000},
            },
            _WORDS,
        ),
        RequestExample.untouched("100", {"messages": HI, "max_tokens": 100}, _WORDS),
        RequestExample.untouched("none", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Lower it."""
        named = self.value.split()
        most = next(filter(None, map(whole_number, filter(str.isdecimal, named))), None)
        if not most:
            return []
        most -= "exclusive" in named or "less" in named
        given = {key: whole_number(body.get(key)) for key in _LIMITS if key in body}
        edits = [
            edit
            for key, asked in given.items()
            if asked is not None and asked > most
            for edit in replaced(body, key, most)
        ]
        return edits + (_lowered_budget(body, most) if edits else [])


def _lowered_budget(body: Body, most: int) -> list[Edit]:
    """Leave a token to answer with: a budget of thinking has to be below the limit."""
    thinking = body.get("thinking")
    if not isinstance(thinking, dict):
        return []
    budget = whole_number(thinking.get("budget_tokens"))
    if budget is None or budget < most:
        return []
    return replaced(body, "thinking", {**thinking, "budget_tokens": most - 1})
