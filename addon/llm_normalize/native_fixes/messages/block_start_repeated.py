"""A block that starts twice."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix

_INPUT = [delta("input_json_delta", "{}"), stop()]


class BlockStartRepeated(NativeFix):
    """Drop the second start, if nothing was between."""

    name = "block-start-repeated"
    changes = "a second `content_block_start` of a block -> removed"
    why = "The call stands twice in the message, once without its input."
    providers = ("gateways",)
    sources = ("https://github.com/danielalves96/claude-code-provider-gateway/pull/2",)
    examples = (
        MessagesExample(
            "of a call",
            [start(), block("tool_use"), block("tool_use"), *_INPUT],
            [start(), block("tool_use"), *_INPUT],
        ),
        MessagesExample.untouched("once", [start(), block("tool_use"), *_INPUT]),
    )
