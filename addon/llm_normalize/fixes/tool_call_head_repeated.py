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
                opened = known.get(call.get("index", -1))
                if opened is None or _is_another(call, opened):
                    kept.append(call)
                    continue
                changed |= _strip(call)
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


def _strip(call: Chunk) -> bool:
    """Leave only index and arguments in *call*; tell whether anything went."""
    head = [key for key in ("id", "type") if key in call]
    for key in head:
        del call[key]
    inner = call.get("function")
    if not isinstance(inner, dict):
        return call.pop("function", inner) is not inner or bool(head)
    named = "name" in inner
    inner.pop("name", None)
    if inner.get("arguments") is None:
        inner.pop("arguments", None)
    if not inner:
        del call["function"]
        return True
    return named or bool(head)
