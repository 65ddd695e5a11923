"""A second tool call under the index of the first."""

from ..chunk import Chunk, calls, deltas, function
from ..fix import Example, Fix, calling, head, rest
from ..stream_state import Asked, Call, Seen, brief

_FIRST = calling(head(0))
_SECOND = head(0, id="call_1")


class ToolCallIndexWrong(Fix):
    """Give a call that opens under a taken index the next one, and what follows too."""

    name = "tool-call-index-wrong"
    changes = "second call under the same `index` -> the next index"
    why = "The arguments of two calls run together, and the next turn is refused."
    providers = ("DeepSeek V4 behind gateways", "Gemini proxies")
    sources = ("https://github.com/agno-agi/agno/issues/8880",)
    examples = (
        Example(
            "two calls at 0",
            [_FIRST, calling(rest(0)), calling(_SECOND), calling(rest(0))],
            [
                _FIRST,
                calling(rest(0)),
                calling({**_SECOND, "index": 1}),
                calling(rest(1)),
            ],
            ended=False,
        ),
        Example.untouched("counted", [_FIRST, calling(head(1)), calling(rest(1))]),
        Example.untouched("told twice", [_FIRST, _FIRST]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._places: dict[tuple[int, int], int] = {}  # (choice, theirs) to ours

    def edit(self, chunk: Chunk) -> bool:
        """Number the fragments anew."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = dict(self.seen.choice(index).calls)
            for call in calls(delta):
                theirs = call.get("index")
                if not isinstance(theirs, int):
                    continue
                ours = self._places.get((index, theirs), theirs)
                opened = known.get(ours)
                if opened is not None and opened.is_another(call):
                    ours = _place(call, known)
                    self._places[index, theirs] = ours
                name = bool(function(call).get("name"))
                known.setdefault(ours, Call(call.get("id"), name))
                if ours != theirs:
                    call["index"] = ours
                    changed = True
        return changed


def _place(call: Chunk, known: dict[int, Call]) -> int:
    same = [at for at, each in known.items() if each.id == brief(call["id"])]
    return same[0] if same else max(known) + 1
