"""`stream_options`, where it is refused, or the stream hangs."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop

_MODEL = "mistralai/mistral-small-24b-instruct"
_ASKED = {"model": _MODEL, "stream": True, "messages": HI}


class StreamOptionsRefused(Adaptation):
    """Drop it: an answer without usage is better than none."""

    name = "stream-options-refused"
    changes = "`stream_options` -> removed, for Mistral's models"
    why = "NIM answers 400."
    hosts = ("integrate.api.nvidia.com", "ai.api.nvidia.com")
    models = "mistral|mixtral"
    key = "stream_options"
    sources = (
        "https://github.com/earendil-works/pi/pull/1528",
        "https://github.com/HKUDS/DeepTutor/pull/420",
    )
    examples = (
        RequestExample(
            "usage", {**_ASKED, "stream_options": {"include_usage": True}}, _ASKED
        ),
        RequestExample.untouched("without", _ASKED),
        RequestExample.untouched(
            "another model",
            {"model": "meta/llama-3.3-70b", "stream_options": {"include_usage": True}},
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        return drop(body, "stream_options")
