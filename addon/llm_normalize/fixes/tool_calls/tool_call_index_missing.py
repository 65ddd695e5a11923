"""Tool call fragments without `index`."""

from ...chat.chunk import (
    Chunk,
    calls,
    deltas,
    function,
    given_index,
    name_of,
    put_first,
)
from ...chat.declared_tools import Tools
from ...chat.open_calls import Counted, Opened
from ...chat.stream_state import Asked, Call, Seen, brief
from ...repair.fix import Example, Fix, calling, head, rest

_A = head(None, id="call_a")
_B = head(None, id="call_b")


class ToolCallIndexMissing(Fix):
    """Count the calls of a choice; a fragment that opens none continues the last."""

    name = "tool-call-index-missing"
    changes = "`tool_calls[]` without `index`, or with text -> counted from 0"
    why = "openai-python fails on `list[None]`; strict schemas refuse the chunk."
    providers = ("NVIDIA NIM", "Gemini", "Ollama", "mistral.rs")
    key = "call"
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
        self._counted = Counted()

    def state(self) -> object:
        """Return which calls are counted."""
        return self._counted.state

    def edit(self, chunk: Chunk) -> bool:
        """Number the fragments."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = Opened(self.seen.choice(index).calls)
            for call in calls(delta):
                name, inner = name_of(call), function(call)
                at = given_index(call)
                if at is None or at < 0:
                    at = _place(call, known, self.asked.declared)
                    if name and at > known.last:
                        self._counted.open((index, at))
                    put_first(call, "index", self._counted.get((index, at)))
                    changed = True
                else:
                    self._counted.given((index, at))
                    changed |= isinstance(call["index"], str)
                    call["index"] = at
                if name or call.get("id") or inner.get("arguments"):
                    known.add(at, Call(call.get("id"), name))
        return changed


def _place(call: Chunk, known: Opened, tools: Tools) -> int:
    """Return the index of the call that *call* opens or continues."""
    identity = brief(call.get("id"))
    same = known.where(identity)[-1:] if identity else [known.last]
    opened = known.get(same[0]) if same else None
    if identity:
        goes_on = opened is not None and not opened.is_another(call, tools)
        return same[0] if goes_on else known.last + 1
    if function(call).get("name") and (opened is None or opened.name):
        return known.last + 1
    return max(known.last, 0)
