"""A block that does not end before what follows it."""

from ..message_events import block, delta, end, start, stop
from ..native_fix import MessagesExample, NativeFix

_OPEN = [start(), block("text"), delta("text_delta", "Hi")]
_CALL = [block("tool_use", 1), delta("input_json_delta", "{}", 1)]


class BlockStopMissing(NativeFix):
    """End it."""

    name = "block-stop-missing"
    changes = "no `content_block_stop` -> one before the next block, or the end"
    why = "Claude Code and the AI SDK emit a block, and run a call, at its stop."
    providers = (
        "LiteLLM",
        "codebuddy2api",
        "axonhub",
    )
    sources = (
        "https://github.com/looplj/axonhub/pull/1677",
        "https://github.com/orangeboyChen/codebuddy2api/pull/11",
    )
    examples = (
        MessagesExample(
            "two blocks",
            [*_OPEN, *_CALL, end("tool_use")],
            [*_OPEN, stop(), *_CALL, stop(1), end("tool_use")],
        ),
        MessagesExample.untouched("there", [*_OPEN, stop(), end()]),
        MessagesExample.untouched("broken off", _OPEN),
    )
