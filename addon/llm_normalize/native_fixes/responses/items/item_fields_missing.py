"""Items without what one of their kind always has."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, added, begin, message, without


class ItemFieldsMissing(NativeFix):
    """Put it in."""

    name = "item-fields-missing"
    changes = "no `status`, `role`, `content` or `summary` -> put in"
    why = "Typed clients refuse the item, and the AI SDK and opencode the stream."
    providers = ("OmniRoute", "Bifrost", "new-api")
    sources = (
        "https://github.com/diegosouzapw/OmniRoute/issues/13964",
        "https://github.com/EratoLab/erato/pull/649",
    )
    examples = (
        ResponsesExample(
            "a message",
            [*begin(), added(2, without(message(), "role", "content")), *WHOLE[3:]],
            [
                *begin(),
                added(
                    2,
                    {
                        **without(message(), "role", "content"),
                        "role": "assistant",
                        "content": [],
                    },
                ),
                *WHOLE[3:],
            ],
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
