"""Arguments of a tool call before its name, or a name in parts."""

from ...chat.chunks.chunk import Chunk, calls, deltas, envelope_of, put_calls
from ...chat.stream_state import Asked, Seen
from ...chat.tool_calls.declared_tools import Tools
from ...chat.tool_calls.sent_call import brief
from ...chat.tool_calls.unnamed_calls import Unnamed, join_fragments
from ...repair.fix import Example, Fix, calling, chunk, head, rest
from ...repair.look import Finding

_EARLY = {"index": 0, "id": "call_0", "function": {"arguments": "{"}}
_LATE = {"index": 0, "function": {"name": "f", "arguments": "}"}}
_JOINED = join_fragments(_EARLY, _LATE)
_NULLS = {"index": 1, "id": None, "function": {"name": None}}


_TOOLS = Asked(stream=True, tools=True, declared=Tools(frozenset({"get_time"})))
_NAMED = {"name": "get_time"}
_BEGIN = {**head(), "function": {"name": "get_", "arguments": ""}}
_END = {"index": 0, "function": {"name": "time"}}


class ToolCallNameLate(Fix):
    """Let fragments wait for the name; one without anything is dropped.

    What only begins the name of a declared tool waits for the rest of it.
    """

    name = "tool-call-name-late"
    changes = (
        "arguments before `function.name` -> with it; a name in parts -> the whole name"
    )
    why = (
        "The AI SDK expects the name in a call's first fragment, and raises; agents look "
        "for a tool by half a name."
    )
    providers = ("SGLang", "Workers AI (a last fragment of nulls)", "Kimi K3", "vLLM")
    handles = Finding.CALLS
    sources = (
        "https://github.com/vercel/ai/issues/15879",
        "https://github.com/vllm-project/vllm/issues/45915",
        "https://github.com/cloudflare/ai/blob/main/packages/workers-ai-provider/src/streaming.ts",
    )
    holds_calls = True
    examples = (
        Example(
            "late",
            [calling(_EARLY), calling(_LATE)],
            [chunk({}), calling(_JOINED)],
            ended=False,
        ),
        Example(
            "in parts",
            [calling(_BEGIN), calling(_END)],
            [chunk({}), calling(join_fragments(_BEGIN, {**_END, "function": _NAMED}))],
            asked=_TOOLS,
            ended=False,
        ),
        Example("nulls", [calling(head(), _NULLS)], [calling(head())], ended=False),
        Example.untouched("first", [calling(head()), calling(rest())]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._unnamed = Unnamed(asked.declared)
        self._frame: Chunk = {}

    @property
    def waiting(self) -> object:
        """Which calls have no name yet."""
        return self._unnamed.waiting

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Take out what has no name, and put it to what has; send what is too much."""
        changed = False
        for index, _, delta in deltas(chunk):
            found = calls(delta)
            remaining = [due for call in found if (due := self._due(index, call))]
            if remaining != found:
                changed = True
                self._frame = envelope_of(chunk)
                put_calls(delta, remaining)
        much = self._unnamed.overflow(self.seen.n)
        self.seen.unnamed = self._unnamed.choices
        return [*map(self._alone, much), chunk] if much else changed

    def _due(self, index: int, call: Chunk) -> Chunk | None:
        if call.get("name") and not call.get("function"):
            return call  # it has one, if not in its place
        identity = brief(call.get("id"))
        known = self.seen.choice(index).calls.values() if identity else ()
        opened = any(each.id == identity for each in known)
        return self._unnamed.take(index, call, self.seen.n, opened=opened)

    def flush(self) -> list[Chunk]:
        """Note that no name comes any more."""
        self._unnamed.settle()
        return []

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what never got a name, unless that may have been lost: no call is sound then."""
        released = self._unnamed.release(indexes, self.seen.n)
        self.seen.unnamed = self._unnamed.choices
        return [] if self.seen.holes else [*map(self._alone, released)]

    def undo(self, n: int) -> None:
        """Let wait what waited before the event."""
        self._unnamed.undo(n)

    def _alone(self, due: tuple[int, Chunk]) -> Chunk:
        index, call = due
        choice = {"index": index, "delta": {"tool_calls": [call]}}
        return {**self._frame, "choices": [{**choice, "finish_reason": None}]}
