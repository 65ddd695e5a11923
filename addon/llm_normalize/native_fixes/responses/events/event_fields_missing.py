"""Events without what one of their kind always has."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE


class EventFieldsMissing(NativeFix):
    """Put it in."""

    name = "event-fields-missing"
    changes = "no `part`, `delta` or `annotation` -> an empty one"
    why = "Typed clients refuse the event."
    providers = ("gateways",)
    sources = ("https://github.com/ggml-org/llama.cpp/pull/24957",)
    examples = (
        ResponsesExample(
            "no delta",
            [*WHOLE[:4], {**WHOLE[4], "delta": None}, *WHOLE[5:]],
            [*WHOLE[:4], {**WHOLE[4], "delta": ""}, *WHOLE[5:]],
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
