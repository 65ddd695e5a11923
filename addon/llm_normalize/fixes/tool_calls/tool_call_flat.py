"""Tool calls without `function`: `name` and `arguments` stand beside `id`."""

from ...chat.chunks.chunk import Chunk, calls, change_all
from ...repair.fix import Example, PartFix, calling, chunk, completion
from ...repair.look import Finding

_CALL = {"index": 0, "id": "call_0", "type": "function"}
_INNER = {"name": "f", "arguments": "{}"}
_FLAT = {**_CALL, **_INNER}
_RIGHT = {**_CALL, "function": _INNER}


class ToolCallFlat(PartFix):
    """Put them into `function`; a call that is not a list becomes one."""

    name = "tool-call-flat"
    changes = "`tool_calls[].name`, `arguments` -> in `function`"
    why = "Clients read `function.name`, and raise or call nothing."
    providers = ("Cloudflare Workers AI", "Llama servers")
    handles = Finding.ODD_CALLS | Finding.NULL_CALLS
    sources = (
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
        "https://developers.cloudflare.com/workers-ai/features/function-calling/",
    )
    examples = (
        Example.of_event("stream", calling(_FLAT), calling(_RIGHT)),
        Example.of_event(
            "empty function", calling({**_FLAT, "function": {}}), calling(_RIGHT)
        ),
        Example("no list", [chunk({"tool_calls": _RIGHT})], [calling(_RIGHT)]),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": "", "tool_calls": [_FLAT]}),
            completion({"role": "assistant", "content": "", "tool_calls": [_RIGHT]}),
        ),
        Example.untouched("right", [calling(_RIGHT)]),
        Example.untouched(
            "custom", [calling({**_CALL, "custom": {"name": "f", "input": ""}})]
        ),
    )

    def part(self, part: Chunk) -> bool:
        """Put what belongs to a function into one."""
        lone = isinstance(part.get("tool_calls"), dict)
        if lone:
            part["tool_calls"] = [part["tool_calls"]]
        return change_all(_enclose, calls(part)) or lone


def _enclose(call: Chunk) -> bool:
    named = call.get("function")
    if isinstance(named, dict) and named:
        if "arguments" in named or "parameters" not in named:
            return False
        named["arguments"] = named.pop("parameters")
        return True
    if "custom" in call:
        return False
    keys = [key for key in ("name", "arguments", "parameters") if key in call]
    if not keys:
        return False
    inner = {key: call.pop(key) for key in keys}
    if "parameters" in inner:
        inner.setdefault("arguments", inner.pop("parameters"))
    call["function"] = inner
    return True
