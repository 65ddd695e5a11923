"""Blocks that take turns."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix

_FIRST = [
    block("tool_use"),
    delta("input_json_delta", "{"),
    delta("input_json_delta", "}"),
]
_SECOND = [block("tool_use", 1), delta("input_json_delta", "{}", 1)]


class BlockInterleaved(NativeFix):
    """Send one after the other: what belongs to a later one waits for the end of the first."""

    name = "block-interleaved"
    changes = "a block that begins in another -> behind it"
    why = "Clients know of one open block alone, and mix the inputs of calls."
    providers = (
        "LiteLLM",
        "gateways of chat",
    )
    sources = ("https://github.com/danielalves96/claude-code-provider-gateway/pull/2",)
    examples = (
        MessagesExample(
            "two calls",
            [start(), *_FIRST[:2], *_SECOND, _FIRST[2], stop(), stop(1)],
            [start(), *_FIRST, stop(), *_SECOND, stop(1)],
        ),
        MessagesExample.untouched(
            "one by one", [start(), *_FIRST, stop(), *_SECOND, stop(1)]
        ),
    )
