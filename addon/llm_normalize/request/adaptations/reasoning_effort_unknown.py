"""A level of effort that the provider does not know."""

from ..adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced

LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""From the lowest to the highest."""
_WORDS = (
    b'{"error":{"message":"Invalid value: \'xhigh\'. Supported values are: \'low\', '
    b'\'medium\', and \'high\'.","param":"reasoning_effort"}}'
)


class ReasoningEffortUnknown(Adaptation):
    """Send the nearest level that the refusal names; of two as near, the lower one."""

    name = "reasoning-effort-unknown"
    changes = "`reasoning_effort` -> the nearest level that is known"
    why = "Clients know levels that a provider does not, which answers 400."
    needs_value = True
    key = "effort"
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
            "OpenRouter's",
            {"messages": HI, "reasoning": {"effort": "minimal"}},
            {"messages": HI, "reasoning": {"effort": "low"}},
            _WORDS,
        ),
        RequestExample.untouched(
            "low", {"messages": HI, "reasoning_effort": "low"}, _WORDS
        ),
        RequestExample.untouched("none", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace it."""
        known = [each for each in LEVELS if each in self.value.split()]
        edits = []
        if (made := _nearest(body.get("reasoning_effort"), known)) is not None:
            edits += replaced(body, "reasoning_effort", made)
        reasoning = body.get("reasoning")
        if isinstance(reasoning, dict):
            made = _nearest(reasoning.get("effort"), known) or reasoning.get("effort")
            holder = {**reasoning, "effort": made} if made else reasoning
            edits += replaced(body, "reasoning", holder, "reasoning.effort")
        return edits


def _nearest(given: object, known: list[str]) -> str | None:
    if given not in LEVELS or not known:
        return None
    place = LEVELS.index(str(given))
    return min(known, key=lambda each: abs(LEVELS.index(each) - place))
