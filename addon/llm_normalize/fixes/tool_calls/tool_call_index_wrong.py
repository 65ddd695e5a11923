"""A second tool call under the index of the first."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, name_of
from ...chat.chunks.chunk_split import part_calls
from ...chat.stream_state import Asked, Seen
from ...chat.tool_calls.declared_tools import Tools
from ...chat.tool_calls.open_calls import IndexMap, OpenCalls, Place
from ...chat.tool_calls.sent_call import Call, brief
from ...repair.fix import Example, Fix, calling, head, rest
from ...repair.look import Finding

_FIRST = calling(head(0))
_SECOND = head(0, id="call_1")
_HERE = {**rest(0), "id": "call_0"}
_ELSEWHERE = calling({**_HERE, "index": 1})
_RENAMED = {**head(0), "function": {"name": "g", "arguments": ""}}
_TOOLS = Asked(stream=True, tools=True, declared=Tools(frozenset("fg")))
_MOVED = calling({**_SECOND, "index": 1})


class ToolCallIndexWrong(Fix):
    """Give a call that opens under a taken index the next one, and its rest too."""

    name = "tool-call-index-wrong"
    changes = "second call under one `index`, or counted from 1 -> the next index"
    why = "The arguments of two calls run together, and the next turn is refused."
    providers = ("DeepSeek V4 behind gateways", "Gemini proxies")
    handles = Finding.CALLS
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
        Example(
            "another tool under one id",
            [_FIRST, calling(_RENAMED)],
            [_FIRST, calling({**_RENAMED, "index": 1})],
            asked=_TOOLS,
            ended=False,
        ),
        Example.untouched("counted", [_FIRST, calling(head(1)), calling(rest(1))]),
        Example.untouched("sent twice", [_FIRST, _FIRST]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._index_map = IndexMap()

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Number the fragments anew; of two that are of one call each has a chunk then."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = OpenCalls(self.seen.choice(index).calls)
            for call in calls(delta):
                theirs = call.get("index")
                if not isinstance(theirs, int):
                    continue
                place, named = (index, theirs), name_of(call)
                ours = self._place(call, place, known)
                if named:
                    self._index_map.open(place, brief(call.get("id")), ours)
                if named or call.get("id") or function(call):
                    known.add(ours, Call(call.get("id"), named))
                if self._index_map.note(place, ours):
                    changed |= ours != theirs
                    call["index"] = ours
        return changed and (part_calls(chunk) or True)

    def _place(self, call: Chunk, place: Place, known: OpenCalls) -> int:
        identity = brief(call.get("id"))
        tools = self.asked.declared
        known_index = self._index_map.find(place, identity) if identity else None
        if known_index is not None:  # two calls may take turns under one index
            taken = known.get(known_index)
            is_new = taken is not None and _is_another(taken, call, tools)
            return known.last + 1 if is_new else known_index
        at = self._index_map.get(place)
        opened = None if self._index_map.is_new(place) else known.get(at)
        named = name_of(call)
        elsewhere = opened is None or opened.id != identity
        same = known.where(identity) if identity and elsewhere else []
        if opened is not None and not opened.is_another(call, tools):
            return same[0] if same and not named else at
        following, free = known.last + 1, known.get(at) is None
        if opened is None and named:
            return at if free and at < following else following
        return same[0] if same else (at if free else following)


def _is_another(taken: Call, call: Chunk, tools: Tools) -> bool:
    """Tell whether *call*, with the id under which *taken* opened, is not that again."""
    if taken.is_renamed(call, tools):
        return True
    given = function(call).get("arguments")
    is_again = isinstance(given, str) and taken.has_sent(given)
    own = {"id": taken.id}  # it may be made up
    return not is_again and taken.is_another(call | own, tools)
