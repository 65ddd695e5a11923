"""Tool call fragments without `index`."""

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    deltas,
    function,
    given_index,
    name_of,
    put_first,
)
from ...chat.stream_state import Asked, Seen
from ...chat.tool_calls.open_calls import AssignedIndexes, OpenCalls
from ...chat.tool_calls.sent_call import Call, brief
from ...repair.fix import Example, Fix, calling, head, rest
from ...repair.look import Finding

_A = head(None, id="call_a")
_B = head(None, id="call_b")


class ToolCallIndexMissing(Fix):
    """Count the calls of a choice; a fragment that opens none continues the last."""

    name = "tool-call-index-missing"
    changes = "`tool_calls[]` without `index`, or with text -> counted from 0"
    why = "openai-python fails on `list[None]`; strict schemas refuse the chunk."
    providers = ("NVIDIA NIM", "Gemini", "Ollama", "mistral.rs")
    handles = Finding.CALLS
    sources = (
        "https://github.com/openai/openai-python/issues/2806",
        "https://github.com/ollama/ollama/issues/7881",
        "https://github.com/64bit/async-openai/issues/432",
    )
    examples = (
        Example(
            "two calls in one chunk",
            [calling(_A, _B)],
            [calling({"index": 0, **_A}, {"index": 1, **_B})],
            ended=False,
        ),
        Example(
            "continued",
            [calling(head()), calling(rest(None))],
            [calling(head()), calling(rest())],
            ended=False,
        ),
        Example.untouched("counted", [calling(head())]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._indexes = AssignedIndexes()

    def edit(self, chunk: Chunk) -> bool:
        """Number the fragments."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = OpenCalls(self.seen.choice(index).calls)
            for call in calls(delta):
                name, identity = name_of(call), brief(call.get("id"))
                theirs = given_index(call)
                if theirs is None or theirs < 0:
                    at = self._place(index, call, known)
                else:
                    place = index, theirs
                    at = self._indexes.given(place, identity, is_named=bool(name))
                changed |= call.get("index") != at
                put_first(call, "index", at)
                if name or call.get("id") or function(call).get("arguments"):
                    known.add(at, Call(call.get("id"), name))
        return changed

    def _place(self, index: int, call: Chunk, known: OpenCalls) -> int:
        """Return the index of the call that *call* opens or continues."""
        counted, identity, is_named = (
            self._indexes,
            brief(call.get("id")),
            bool(name_of(call)),
        )
        same = known.where(identity)[-1:] if identity else [known.last]
        opened = known.get(same[0]) if same else None
        at = counted.find(index, identity) if identity else counted.last(index)
        if not identity and function(call).get("name"):
            waits = at is not None and counted.lacks_name((index, at))
            goes_on = waits or (opened is not None and not opened.name)
        elif opened is None:
            goes_on = at is not None or not identity
        else:
            goes_on = not (identity and opened.is_another(call, self.asked.declared))
        if not goes_on:
            return counted.open(index, known.last + 1, identity, is_named=is_named)
        if at is None:
            at = max(same[0], 0)
        return counted.goes_on(index, at, identity, is_named=is_named)
