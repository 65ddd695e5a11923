"""An empty `custom` beside the `function` of a tool call."""

from ...chat.chunks.chunk import Chunk, calls, change_all
from ...repair.fix import Example, PartFix, calling, completion, head
from ...repair.look import Finding

_HOLLOW = {"name": "", "input": ""}
_CALL = {
    "id": "call_0",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}


class ToolCallCustomHollow(PartFix):
    """Leave the key out."""

    name = "tool-call-custom-hollow"
    changes = '`custom: {"name": "", "input": ""}` beside `function` -> removed'
    why = "LiteLLM takes the call for a custom tool's, and refuses or loses it."
    providers = ("Snowflake", "servers built on openai-go's union types")
    handles = Finding.ODD_CALLS
    sources = (
        "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event(
            "stream", calling({**head(), "custom": _HOLLOW}), calling(head())
        ),
        Example.of_body(
            "body",
            completion({"content": None, "tool_calls": [{**_CALL, "custom": None}]}),
            completion({"content": None, "tool_calls": [_CALL]}),
        ),
        Example.untouched(
            "custom tool",
            [calling({"index": 0, "id": "c", "type": "custom", "custom": _HOLLOW})],
            ended=False,
        ),
    )

    def part(self, part: Chunk) -> bool:
        """Drop the key from the calls."""
        return change_all(_drop, calls(part))


def _drop(call: Chunk) -> bool:
    custom = call.get("custom", "")
    filled = custom is not None and (
        not isinstance(custom, dict) or any(custom.values())
    )
    if filled or not {"function", "arguments"} & call.keys():
        return False
    del call["custom"]
    return True
