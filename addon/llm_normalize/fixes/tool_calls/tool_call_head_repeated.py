"""`id`, `type` or `name` again, or null, on fragments after a call's first."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, put_calls
from ...chat.tool_calls.sent_call import Call
from ...repair.fix import Example, Fix, calling, chunk, head, rest
from ...repair.look import Finding

_OPEN = calling(head())
_NULLS = {"id": None, "type": None, "function": {"name": None, "arguments": "{}"}}


class ToolCallHeadRepeated(Fix):
    """Send a call's head once; a fragment that brings no arguments is dropped."""

    name = "tool-call-head-repeated"
    changes = "`id`, `type`, `function.name` after a call's first fragment -> removed"
    why = (
        "Clients add fragments up: `read_fileread_file`, ids too long to be accepted "
        "on the next turn; null overwrites the name in others."
    )
    providers = ("MiniMax on NVIDIA NIM", "SGLang", "Fireworks", "opencode Zen")
    handles = Finding.CALLS
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/12230",
        "https://github.com/anomalyco/opencode/issues/43328",
    )
    also_covered_by = ("field-null",)
    examples = (
        Example(
            "repeated",
            [_OPEN, calling(head(0, "{}"))],
            [_OPEN, calling(rest())],
            ended=False,
        ),
        Example(
            "null",
            [_OPEN, calling({"index": 0, **_NULLS})],
            [_OPEN, calling(rest())],
            ended=False,
        ),
        Example(
            "only nulls",
            [_OPEN, calling({"index": 0, "x": None, "function": {"x": None}})],
            [_OPEN, chunk({})],
            ended=False,
        ),
        Example.untouched("once", [_OPEN, calling(rest())]),
        Example.untouched("another call", [_OPEN, calling(head(0, id="call_1"))]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Strip the fragments that continue a call."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            found = calls(delta)
            remaining = []
            for call in found:
                at = call.get("index")
                opened = known.get(at) if isinstance(at, int) else None
                if opened is None or opened.is_another(call, self.asked.declared):
                    remaining.append(call)
                    continue
                changed |= self._strip(call, opened)
                if any(v not in (None, {}) for k, v in call.items() if k != "index"):
                    remaining.append(call)
            if len(remaining) != len(found):
                changed = True
                put_calls(delta, remaining)
        return changed

    def _strip(self, call: Chunk, opened: Call) -> bool:
        """Leave what *call* adds to the call that was *opened*; tell whether any went."""
        inner = function(call)
        given = inner.get("name")
        before = (len(call), len(inner), given)
        call.pop("type", None)
        if opened.id or not call.get("id"):
            call.pop("id", None)
        if opened.name or not given:
            inner.pop("name", None)
            rest = given and opened.rest_of_name(given, self.asked.declared)
            inner |= {"name": rest} if rest else {}
        if inner.get("arguments") is None:
            inner.pop("arguments", None)
        if before[1] and all(value is None for value in inner.values()):
            call.pop("function", None)
        return before != (len(call), len(inner), inner.get("name"))
