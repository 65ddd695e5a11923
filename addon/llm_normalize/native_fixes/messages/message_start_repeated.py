"""A second `message_start` in one message."""

from ..message_events import block, delta, start
from ..native_fix import MessagesExample, NativeFix


class MessageStartRepeated(NativeFix):
    """Drop it; its figures count."""

    name = "message-start-repeated"
    changes = "a second `message_start` -> removed"
    why = "Claude Code rejects the order of events, and asks everything again, unstreamed."
    providers = ("LiteLLM",)
    sources = ("https://github.com/BerriAI/litellm/pull/33859",)
    examples = (
        MessagesExample(
            "twice",
            [start(), start(), block("text"), delta("text_delta", "Hi")],
            [start(), block("text"), delta("text_delta", "Hi")],
        ),
        MessagesExample.untouched("once", [start(), block("text")]),
    )
