"""Levels of the effort that a model makes to think."""

from ...wire.json_text import Json, as_object
from ..adaptation import (
    EVERY_FORM,
    HI,
    UNWANTED,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    refused,
    replaced,
)

LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""From the lowest to the highest."""
_HOLDERS = ("reasoning", "output_config")
"""Where Responses, OpenRouter and Messages have it."""
_UNSAID = ("auto", "default")
"""What the provider chooses, where it knows no levels but these."""
MANDATORY = "mandatory"
"""That thinking cannot be turned off."""
_LEVELS = refused(
    "Invalid value: 'xhigh'. Supported values are: 'low', 'medium', and 'high'.",
    param="reasoning_effort",
)


# A level of effort that the provider does not know.
class ReasoningEffortUnknown(Adaptation):
    """Send the nearest level that the refusal names; of two as near, the lower one."""

    name = "reasoning-effort-unknown"
    changes = "`reasoning_effort`, `reasoning.effort`, `output_config.effort` -> the nearest level that is known"
    why = "Clients know levels that a provider does not, or turn off what always thinks: it answers 400."
    needs_value = True
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/ollama/ollama/issues/17252",
        "https://github.com/router-for-me/CLIProxyAPI/issues/1572",
        "https://github.com/nguyenphutrong/quotio/issues/287",
        "https://github.com/elie222/rakazo/issues/114",
        "https://github.com/earendil-works/pi/issues/8454",
        "https://github.com/liliMozi/openhanako/issues/1478",
    )
    examples = (
        RequestExample.of_fields(
            "xhigh",
            {"reasoning_effort": "xhigh"},
            {"reasoning_effort": "high"},
            _LEVELS,
        ),
        RequestExample.untouched(
            "low", {"messages": HI, "reasoning_effort": "low"}, _LEVELS
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace it."""
        known, edits = self.value.split(), []
        if self.value == MANDATORY:
            return _with_thinking(body)
        if (made := _nearest(body.get("reasoning_effort"), known)) is not None:
            edits += replaced(body, "reasoning_effort", made)
        for key in _HOLDERS:
            holder = as_object(body.get(key))
            if made := _nearest(holder.get("effort"), known):
                changed: Json = {**holder, "effort": made}
                edits += replaced(body, key, changed, f"{key}.effort")
        return edits


def _with_thinking(body: Body) -> list[Edit]:
    """Have *body* ask for the lowest level of thinking, if it asks for none."""
    edits = drop(body, "thinking") if body.get("thinking") in UNWANTED else []
    if body.get("reasoning_effort") == "none":
        edits += replaced(body, "reasoning_effort", "low")
    for key in _HOLDERS:
        holder = as_object(body.get(key))
        if holder.get("effort") == "none" or holder.get("enabled") is False:
            made = {name: each for name, each in holder.items() if name != "enabled"}
            if made.get("effort") in (None, "none"):
                made["effort"] = "low"
            edits += replaced(body, key, made, f"{key}.effort")
    return edits


def _nearest(given: object, named: list[str]) -> str | None:
    """Return the nearest level of those *named*: not to think is near to no other.

    A choice that is left to a provider which makes none is the middle.
    """
    level = "medium" if given in _UNSAID else str(given)
    if level not in LEVELS:
        return None
    place = LEVELS.index(level)
    known = [each for each in LEVELS if each in named and each != "none"]
    if given in named or (given == "none" and not known):
        return str(given) if given in named else None
    if known:
        return min(known, key=lambda each: abs(LEVELS.index(each) - place))
    return next((each for each in _UNSAID if each in named and place), None)
