"""A call with its input in its start."""

from ..message_events import block, delta, message, start, stop
from ..native_fix import MessagesExample, NativeFix

_FULL = block("tool_use", input={"a": 1})
_CALL = {**_FULL["content_block"], "id": "toolu_1"}
_BODY = message(_CALL, stop_reason="tool_use")
_SPELLED = message({**_CALL, "input": '{"a":1}'}, stop_reason="tool_use")
_DELTA = delta("input_json_delta", '{"a":1}')


class ToolInputInStart(NativeFix):
    """Send it as a delta, unless one follows."""

    name = "tool-input-in-start"
    changes = "`input` in `content_block_start` -> `input_json_delta`; spelled as a text in a body -> an object"
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
        MessagesExample("a body", [_SPELLED], [_BODY], is_body=True),
        MessagesExample.untouched(
            "in deltas", [start(), block("tool_use"), _DELTA, stop()]
        ),
    )
