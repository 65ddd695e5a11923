"""An item that is whole at its beginning."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, added, begin, call


class ItemAddedWhole(NativeFix):
    """Begin it without what it says, which comes in its own events."""

    name = "item-added-whole"
    changes = (
        "`item` with `content` or `arguments` in `response.output_item.added` -> empty"
    )
    why = "Clients add the deltas to what is there already, and have it twice."
    providers = ("llama.cpp", "gateways")
    sources = ("https://github.com/ggml-org/llama.cpp/pull/24957",)
    examples = (
        ResponsesExample(
            "a call",
            [*begin(), added(2, call("{}", status="in_progress")), *CALLED[3:]],
            CALLED,
        ),
        ResponsesExample.untouched("OpenAI's own", CALLED),
    )
