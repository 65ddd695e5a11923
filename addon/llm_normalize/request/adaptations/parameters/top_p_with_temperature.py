"""`top_p` beside `temperature`, where one of them is taken."""

from ....wire.json_text import Number
from ...adaptation import EVERY_FORM, HI, Adaptation, Body, Edit, RequestExample, drop

_WORDS = (
    b'{"error":{"message":"`temperature` and `top_p` cannot both be specified for this '
    b'model. Please use only one."}}'
)
_NEUTRAL = (None, 1, Number("1.0"))
_WARM = {"temperature": Number("0.2"), "messages": HI}


class TopPWithTemperature(Adaptation):
    """Drop the one that says nothing; of two that say something, `top_p`."""

    name = "top-p-with-temperature"
    changes = (
        "`top_p` beside `temperature` -> removed; `temperature: 1` rather than that"
    )
    why = "Claude answers 400, at Anthropic, Bedrock and Vertex."
    key = "top_p"
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/QwenLM/qwen-code/issues/1216",
        "https://github.com/LioQing/llm-extension-for-cmd-pal/pull/15",
        "https://github.com/open-webui/open-webui/issues/17922",
        "https://github.com/anomalyco/opencode/issues/28930",
    )
    examples = (
        RequestExample("1", {**_WARM, "top_p": 1}, _WARM, _WORDS),
        RequestExample("both", {**_WARM, "top_p": Number("0.9")}, _WARM, _WORDS),
        RequestExample(
            "a temperature of 1",
            {"temperature": 1, "top_p": Number("0.9"), "messages": HI},
            {"top_p": Number("0.9"), "messages": HI},
            _WORDS,
        ),
        RequestExample.untouched("one of them", _WARM, _WORDS),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop one of them."""
        if "temperature" not in body or "top_p" not in body:
            return []
        is_spare = body["temperature"] in _NEUTRAL and body["top_p"] not in _NEUTRAL
        return drop(body, "temperature" if is_spare else "top_p")
