"""A stop of no block that is open."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix

_TEXT = [start(), block("text"), delta("text_delta", "Hi"), stop()]


class BlockStopRepeated(NativeFix):
    """Drop it."""

    name = "block-stop-repeated"
    changes = "`content_block_stop` without an open block -> removed"
    why = "Claude Code says `Content block not found`, and the turn fails."
    providers = (
        "Bifrost",
        "CLIProxyAPI",
    )
    sources = ("https://github.com/maximhq/bifrost/pull/4890",)
    examples = (
        MessagesExample("twice", [*_TEXT, stop()], _TEXT),
        MessagesExample.untouched("once", _TEXT),
    )
