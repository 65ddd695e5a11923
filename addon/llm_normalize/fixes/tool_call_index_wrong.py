"""A second tool call under the index of the first."""

from ..chunk import Chunk, calls, deltas, function, name_of, says
from ..fix import Example, Fix, calling, head, rest
from ..jsontext import Json
from ..stream_state import MANY, Asked, Call, Seen, brief

type Place = tuple[int, int]  # (choice, their index)

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
        self._places: dict[Place, int] = {}  # to ours
        self._ids: dict[Place, Json] = {}  # the id as they gave it
        self._unnamed: set[int] = set()  # choices with a fragment that waits for a name

    def edit(self, chunk: Chunk) -> bool:
        """Number the fragments anew."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = dict(self.seen.choice(index).calls)
            for call in calls(delta):
                theirs = call.get("index")
                if not isinstance(theirs, int):
                    continue
                ours, named = self._place(call, (index, theirs), known), name_of(call)
                if named and len(self._ids) < MANY:
                    self._ids[index, theirs] = brief(call.get("id"))
                elif ours not in known and (call.get("id") or says(function(call))):
                    self._unnamed.add(min(index, MANY))
                known.setdefault(ours, Call(call.get("id"), named))
                if ours != theirs and len(self._places) < MANY:
                    self._places[index, theirs] = ours
                    call["index"] = ours
                    changed = True
        return changed

    def _place(self, call: Chunk, place: Place, known: dict[int, Call]) -> int:
        index, theirs = place
        identity, at = brief(call.get("id")), self._places.get(place, theirs)
        taken = (index, theirs) in [(at[0], to) for at, to in self._places.items()]
        opened = None if taken and place not in self._places else known.get(at)
        same_id = bool(identity) and self._ids.get(place) == identity
        if opened is not None and (same_id or not opened.is_another(call)):
            return at
        same = [
            where for where, one in known.items() if identity and one.id == identity
        ]
        following = max(known, default=-1) + 1
        if opened is None and name_of(call):
            apart = at not in known and (at < following or index in self._unnamed)
            return at if apart else following
        return same[0] if same else (following if at in known else at)
