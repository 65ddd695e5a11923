"""An item whose content is a text."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, done, message


class ItemTextBare(NativeFix):
    """Make it a part."""

    name = "item-text-bare"
    changes = "`content` or `summary`: a string -> a list of one part"
    why = "Clients look for parts, and find none."
    providers = ("gateways",)
    sources = ("https://github.com/agentgateway/agentgateway/pull/2281",)
    examples = (
        ResponsesExample(
            "a message",
            [*WHOLE[:7], done(7, {**message("Hi"), "content": "Hi"}), WHOLE[8]],
            WHOLE,
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
