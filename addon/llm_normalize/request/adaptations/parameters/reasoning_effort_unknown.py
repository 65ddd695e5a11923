"""A level of effort that the provider does not know."""

from ....wire.json_text import Json
from ...adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    replaced,
)

LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""From the lowest to the highest."""
_HOLDERS = ("reasoning", "output_config")
"""Where Responses, OpenRouter and Messages have it."""
_UNSAID = ("auto", "default")
"""What the provider chooses, where it knows no levels but these."""
_WORDS = (
    b'{"error":{"message":"Invalid value: \'xhigh\'. Supported values are: \'low\', '
    b'\'medium\', and \'high\'.","param":"reasoning_effort"}}'
)


class ReasoningEffortUnknown(Adaptation):
    """Send the nearest level that the refusal names; of two as near, the lower one."""

    name = "reasoning-effort-unknown"
    changes = "`reasoning_effort`, `reasoning.effort`, `output_config.effort` -> the nearest level that is known"
    why = "Clients know levels that a provider does not, which answers 400."
    needs_value = True
    key = "effort"
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/ollama/ollama/issues/17252",
        "https://github.com/router-for-me/CLIProxyAPI/issues/1572",
        "https://github.com/nguyenphutrong/quotio/issues/287",
    )
    examples = (
        RequestExample(
            "xhigh",
            {"messages": HI, "reasoning_effort": "xhigh"},
            {"messages": HI, "reasoning_effort": "high"},
            _WORDS,
        ),
        RequestExample(
            "of Messages",
            {"messages": HI, "output_config": {"effort": "xhigh"}},
            {"messages": HI, "output_config": {"effort": "high"}},
            _WORDS,
        ),
        RequestExample(
            "OpenRouter's, or of Responses",
            {"messages": HI, "reasoning": {"effort": "minimal"}},
            {"messages": HI, "reasoning": {"effort": "low"}},
            _WORDS,
        ),
        RequestExample(
            "no levels at all",
            {"messages": HI, "reasoning_effort": "high"},
            {"messages": HI, "reasoning_effort": "default"},
            b'{"error":{"message":"`reasoning_effort` must be one of `none` or `default`"}}',
        ),
        RequestExample.untouched(
            "low", {"messages": HI, "reasoning_effort": "low"}, _WORDS
        ),
        RequestExample.untouched("none", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace it."""
        known, edits = self.value.split(), []
        if (made := _nearest(body.get("reasoning_effort"), known)) is not None:
            edits += replaced(body, "reasoning_effort", made)
        for key in _HOLDERS:
            holder = body.get(key)
            given = holder.get("effort") if isinstance(holder, dict) else None
            if isinstance(holder, dict) and (made := _nearest(given, known)):
                changed: Json = {**holder, "effort": made}
                edits += replaced(body, key, changed, f"{key}.effort")
        return edits


def _nearest(given: object, named: list[str]) -> str | None:
    """Return the nearest level of those *named*: not to think is near to no other."""
    if given not in LEVELS:
        return None
    place = LEVELS.index(str(given))
    known = [each for each in LEVELS if each in named and each != "none"]
    if given in named or (given == "none" and not known):
        return str(given) if given in named else None
    if known:
        return min(known, key=lambda each: abs(LEVELS.index(each) - place))
    return next((each for each in _UNSAID if each in named and place), None)
