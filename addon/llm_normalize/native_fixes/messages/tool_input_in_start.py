"""A call with its input in its start."""

from ..message_events import block, delta, start, stop
from ..native_fix import MessagesExample, NativeFix

_FULL = block("tool_use", input={"a": 1})
_DELTA = delta("input_json_delta", '{"a":1}')


class ToolInputInStart(NativeFix):
    """Send it as a delta, unless one follows."""

    name = "tool-input-in-start"
    changes = "`input` in `content_block_start` -> `input_json_delta`"
    why = "Clients read deltas alone, and run the call without an input."
    providers = (
        "new-api",
        "antseed",
    )
    sources = (
        "https://github.com/AntSeed/antseed/pull/15",
        "https://github.com/Yeachan-Heo/gajae-code/pull/1895",
    )
    examples = (
        MessagesExample(
            "whole",
            [start(), _FULL, stop()],
            [start(), block("tool_use"), _DELTA, stop()],
        ),
        MessagesExample(
            "twice",
            [start(), _FULL, _DELTA, stop()],
            [start(), block("tool_use"), _DELTA, stop()],
        ),
        MessagesExample.untouched(
            "in deltas", [start(), block("tool_use"), _DELTA, stop()]
        ),
    )
