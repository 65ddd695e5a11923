"""A level of effort beside thinking that is off."""

from ....wire.json_text import Json
from ...adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    replaced,
)

_WORDS = (
    b'{"error":{"message":"thinking options type cannot be disabled when '
    b'reasoning_effort is set"}}'
)
_OFF = {"messages": HI, "thinking": {"type": "disabled"}}
_FORMAT = {"format": {"type": "json_schema"}}


class EffortWithoutThinking(Adaptation):
    """Drop it: who does not think makes no effort."""

    name = "effort-without-thinking"
    changes = "`reasoning_effort`, `output_config.effort` beside `thinking: disabled` -> removed"
    why = "DeepSeek answers 400 to each subagent of Claude Code."
    key = "effort"
    sent_as = EVERY_FORM
    sources = ("https://github.com/deepseek-ai/DeepSeek-V3/issues/1397",)
    examples = (
        RequestExample("of chat", {**_OFF, "reasoning_effort": "max"}, _OFF, _WORDS),
        RequestExample(
            "of Messages", {**_OFF, "output_config": {"effort": "max"}}, _OFF, _WORDS
        ),
        RequestExample(
            "with a format",
            {**_OFF, "output_config": {"effort": "max", **_FORMAT}},
            {**_OFF, "output_config": _FORMAT},
            _WORDS,
        ),
        RequestExample.untouched(
            "thinking is on", {"messages": HI, "reasoning_effort": "max"}, _WORDS
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        thinking, given = body.get("thinking"), body.get("output_config")
        if not isinstance(thinking, dict) or thinking.get("type") != "disabled":
            return []
        edits = drop(body, "reasoning_effort")
        if isinstance(given, dict) and "effort" in given:
            rest: Json = {key: each for key, each in given.items() if key != "effort"}
            path = "output_config.effort"
            edits += (
                replaced(body, "output_config", rest, path)
                if rest
                else drop(body, "output_config")
            )
        return edits
