"""A second tool call under the index of the first."""

from ..chunk import Chunk, calls, deltas, name_of
from ..fix import Example, Fix, calling, head, rest
from ..joining import part_calls
from ..jsontext import Json
from ..opened import Moved, Opened, Place
from ..stream_state import MANY, Asked, Call, Seen, brief

_FIRST = calling(head(0))
_SECOND = head(0, id="call_1")
_HERE = {**rest(0), "id": "call_0"}
_ELSEWHERE = calling({**_HERE, "index": 1})
_MOVED = calling({**_SECOND, "index": 1})


class ToolCallIndexWrong(Fix):
    """Give a call that opens under a taken index the next one, and its rest too."""

    name = "tool-call-index-wrong"
    changes = "second call under one `index`, or counted from 1 -> the next index"
    why = "The arguments of two calls run together, and the next turn is refused."
    providers = ("DeepSeek V4 behind gateways", "Gemini proxies")
    sources = ("https://github.com/agno-agi/agno/issues/8880",)
    examples = (
        Example(
            "two calls at 0",
            [_FIRST, calling(rest(0)), calling(_SECOND), calling(rest(0))],
            [_FIRST, calling(rest(0)), _MOVED, calling(rest(1))],
            ended=False,
        ),
        Example("continued elsewhere", [_FIRST, _ELSEWHERE], [_FIRST, calling(_HERE)]),
        Example("from 1", [calling(head(1))], [calling({**head(1), "index": 0})]),
        Example.untouched("counted", [_FIRST, calling(head(1)), calling(rest(1))]),
        Example.untouched("told twice", [_FIRST, _FIRST]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._moved = Moved()
        self._ids: dict[Place, Json] = {}  # the id as they gave it

    def edit(self, chunk: Chunk) -> bool:
        """Number the fragments anew."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = Opened(self.seen.choice(index).calls)
            for call in calls(delta):
                theirs = call.get("index")
                if not isinstance(theirs, int):
                    continue
                ours, named = self._place(call, (index, theirs), known), name_of(call)
                if named and len(self._ids) < MANY:
                    self._ids[index, theirs] = brief(call.get("id"))
                place = index, theirs
                known.add(ours, Call(call.get("id"), named))
                if self._moved.note(place, ours):
                    changed |= ours != theirs
                    call["index"] = ours
        return changed

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Send a chunk for each fragment where two turn out to be of one call."""
        return part_calls(chunk)

    def _place(self, call: Chunk, place: Place, known: Opened) -> int:
        identity, at = brief(call.get("id")), self._moved.get(place)
        opened = None if self._moved.is_new(place) else known.get(at)
        same_id = bool(identity) and self._ids.get(place) == identity
        if opened is not None and (same_id or not opened.is_another(call)):
            return at
        following, free = known.last + 1, known.get(at) is None
        if opened is None and name_of(call):
            return at if free and at < following else following
        same = known.where(identity) if identity else []
        return same[0] if same else (at if free else following)
