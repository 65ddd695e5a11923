"""A temperature that the model does not take."""

from ....wire.json_text import Json, Number
from ...adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    replaced,
)

_WORDS = (
    b'{"error":{"message":"invalid temperature: only 1 is allowed for this model"}}'
)


class TemperatureOutOfRange(Adaptation):
    """Send the nearest one that the refusal names: the model takes no other."""

    name = "temperature-out-of-range"
    changes = "`temperature` -> the nearest that is taken"
    why = "Kimi and OpenAI's reasoning models take 1 only, others no more than 1."
    needs_value = True
    key = "temperature"
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/ZaytsevZY/yuketang-helper-auto/issues/30",
        "https://github.com/NVlabs/cvdp_benchmark/issues/29",
        "https://github.com/NousResearch/hermes-agent/issues/9125",
    )
    examples = (
        RequestExample(
            "0.3",
            {"messages": HI, "temperature": Number("0.3")},
            {"messages": HI, "temperature": 1},
            _WORDS,
        ),
        RequestExample.untouched("1", {"messages": HI, "temperature": 1}, _WORDS),
        RequestExample.untouched("none", {"messages": HI}, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace it."""
        given = _figure(body.get("temperature"))
        limits = [_figure(Number(each)) for each in self.value.split()]
        taken = [each for each in limits if each is not None]
        if given is None or not taken:
            return []
        made = min(max(given, min(taken)), max(taken))
        if made == given:
            return []
        whole = int(made) if made.is_integer() else Number(repr(made))
        return replaced(body, "temperature", whole)


def _figure(value: Json) -> float | None:
    text = value.text if isinstance(value, Number) else value
    try:
        return None if isinstance(text, bool) else float(text)
    except (TypeError, ValueError):
        return None
