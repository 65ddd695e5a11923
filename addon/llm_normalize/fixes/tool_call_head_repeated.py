"""`id`, `type` or `name` again, or null, on fragments after a call's first."""

from ..chunk import Chunk, calls, deltas, function
from ..fix import Example, Fix, chunk
from ..stream_state import Call

_HEAD = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": ""},
}
_OPEN = chunk({"tool_calls": [_HEAD]})
_MORE = {"index": 0, "function": {"arguments": "{}"}}


class ToolCallHeadRepeated(Fix):
    """Send a call's head once; a fragment that brings no arguments is dropped."""

    name = "tool-call-head-repeated"
    changes = "`id`, `type`, `function.name` after a call's first fragment -> removed"
    why = (
        "Clients add fragments up: `read_fileread_file`, ids too long to be accepted "
        "on the next turn; null overwrites the name in others."
    )
    providers = ("MiniMax on NVIDIA NIM", "SGLang", "Fireworks", "opencode Zen")
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/12230",
        "https://github.com/langchain4j/langchain4j/issues/4544",
        "https://github.com/anomalyco/opencode/issues/43328",
    )
    examples = (
        Example(
            "repeated",
            [_OPEN, chunk({"tool_calls": [{**_HEAD, **_MORE, "id": "call_1"}]})],
            [_OPEN, chunk({"tool_calls": [_MORE]})],
            ended=False,
        ),
        Example(
            "null",
            [
                _OPEN,
                chunk(
                    {
                        "tool_calls": [
                            {
                                "id": None,
                                "index": 0,
                                "type": "function",
                                "function": {"name": None, "arguments": "{}"},
                            }
                        ]
                    }
                ),
            ],
            [_OPEN, chunk({"tool_calls": [_MORE]})],
            ended=False,
        ),
        Example.untouched("once", [_OPEN, chunk({"tool_calls": [_MORE]})], ended=False),
        Example.untouched(
            "another call at the same index",
            [_OPEN, chunk({"tool_calls": [{**_HEAD, "id": "call_2"}]})],
            ended=False,
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Strip the fragments that continue a call."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            found = calls(delta)
            kept = []
            for call in found:
                at = call.get("index")
                opened = known.get(at) if isinstance(at, int) else None
                if opened is None or _is_another(call, opened):
                    kept.append(call)
                    continue
                changed |= _strip(call, opened)
                if set(call) - {"index"}:
                    kept.append(call)
            if len(kept) != len(found):
                changed = True
                if kept:
                    delta["tool_calls"] = kept
                else:
                    del delta["tool_calls"]
        return changed


def _is_another(call: Chunk, opened: Call) -> bool:
    """Tell whether *call* opens another call than *opened*, at the same index."""
    identity = call.get("id")
    return bool(identity and identity != opened.id and function(call).get("name"))


def _strip(call: Chunk, opened: Call) -> bool:
    """Leave what *call* adds to the call that was *opened*; tell whether any went."""
    stripped = "type" in call
    call.pop("type", None)
    if "id" in call and (opened.id or not call["id"]):
        del call["id"]
        stripped = True
    inner = call.get("function")
    if not isinstance(inner, dict):
        stripped |= "function" in call
        call.pop("function", None)
        return stripped
    if "name" in inner and (opened.name or not inner["name"]):
        del inner["name"]
        stripped = True
    if inner.get("arguments", "") is None:
        del inner["arguments"]
        stripped = True
    if not inner:
        del call["function"]
        stripped = True
    return stripped
