"""Text or thoughts without the start of their block."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix

_TEXT = [delta("text_delta", "Hi"), stop()]


class BlockStartMissing(NativeFix):
    """Begin the block."""

    name = "block-start-missing"
    changes = "no `content_block_start` -> one before the first delta"
    why = "SDKs look up the block of a delta, and raise."
    providers = (
        "LiteLLM",
        "AIClient2API",
    )
    sources = ("https://github.com/anthropics/anthropic-sdk-python/pull/1273",)
    examples = (
        MessagesExample("of text", [start(), *_TEXT], [start(), block("text"), *_TEXT]),
        MessagesExample.untouched("there", [start(), block("text"), *_TEXT]),
        MessagesExample.untouched(
            "an input", [start(), delta("input_json_delta", "{}")]
        ),
    )
