"""A penalty of 0, which is what none means, where penalties are unknown."""

from ....wire.json_text import Number
from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop

_PENALTIES = ("presence_penalty", "frequency_penalty")
_ASKED = {"model": "grok-4.6", "messages": HI}
_NONE = (None, 0, Number("0.0"))


class PenaltyDefaultRefused(Adaptation):
    """Drop a penalty that penalises nothing; another is the provider's to refuse."""

    name = "penalty-default-refused"
    changes = "`presence_penalty: 0`, `frequency_penalty: 0` -> removed"
    why = "xAI and Gemini answer 400 at the name alone, NIM's Gemma 422."
    hosts = (
        "api.x.ai",
        "generativelanguage.googleapis.com",
        "integrate.api.nvidia.com",
    )
    models = "grok|gemini|gemma"
    key = "_penalty"
    sources = (
        "https://github.com/Kilo-Org/kilocode/issues/9652",
        "https://github.com/miaoxworld/NativeTavern/issues/83",
        "https://github.com/yym68686/uni-api/issues/105",
        "https://github.com/n4ze3m/page-assist/issues/418",
    )
    examples = (
        RequestExample(
            "zero",
            {**_ASKED, "presence_penalty": 0, "frequency_penalty": Number("0.0")},
            _ASKED,
        ),
        RequestExample.untouched(
            "a penalty",
            {**_ASKED, "presence_penalty": Number("0.5"), "frequency_penalty": 1},
        ),
        RequestExample.untouched("without", _ASKED),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop those that are 0."""
        return [
            edit
            for key in _PENALTIES
            if key in body and body[key] in _NONE
            for edit in drop(body, key)
        ]
