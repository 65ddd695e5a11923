"""A block that begins without what its kind has."""

from ..message_events import block, start
from ..native_fix import MessagesExample, NativeFix

_CALL = {"type": "tool_use", "id": "toolu_0", "name": "f"}
_BARE = {"type": "content_block_start", "index": 0, "content_block": _CALL}


class BlockFieldsMissing(NativeFix):
    """Put in what is missing, empty."""

    name = "block-fields-missing"
    changes = "`text`, `thinking`, `signature`, `input` missing -> empty"
    why = "Strict clients refuse the event; others add to nothing."
    providers = (
        "llama.cpp",
        "cc-switch",
        "MiniMax",
    )
    sources = (
        "https://github.com/ggml-org/llama.cpp/pull/22960",
        "https://github.com/anthropics/anthropic-sdk-csharp/pull/181",
    )
    examples = (
        MessagesExample("of a call", [start(), _BARE], [start(), block("tool_use")]),
        MessagesExample(
            "null",
            [start(), block("text", text=None)],
            [start(), block("text")],
        ),
        MessagesExample.untouched("complete", [start(), block("thinking")]),
    )
