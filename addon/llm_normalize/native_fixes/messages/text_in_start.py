"""Text, or thoughts, in the start of their block."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix


class TextInStart(NativeFix):
    """Send them as deltas."""

    name = "text-in-start"
    changes = "`text` in `content_block_start` -> a delta"
    why = "The AI SDK reads deltas alone: the text is lost."
    providers = ("gateways that replay whole messages",)
    sources = ("https://platform.claude.com/docs/en/build-with-claude/streaming",)
    examples = (
        MessagesExample(
            "of text",
            [start(), block("text", text="Hi"), stop()],
            [start(), block("text"), delta("text_delta", "Hi"), stop()],
        ),
        MessagesExample(
            "signed thoughts",
            [
                start(),
                block("thinking", signature="s"),
                delta("thinking_delta", "a"),
                stop(),
            ],
            [
                start(),
                block("thinking"),
                delta("thinking_delta", "a"),
                delta("signature_delta", "s"),
                stop(),
            ],
        ),
        MessagesExample.untouched(
            "in a delta", [start(), block("text"), delta("text_delta", "Hi")]
        ),
    )
