"""Arguments of a tool call before its name."""

from ..chunk import Chunk, calls, choices, deltas, envelope_of, index_of, put_calls
from ..fix import Example, Fix, calling, chunk, head, rest
from ..joining import Unnamed, join_fragments
from ..stream_state import Asked, Seen

_EARLY = {"index": 0, "id": "call_0", "function": {"arguments": "{"}}
_LATE = {"index": 0, "function": {"name": "f", "arguments": "}"}}
_JOINED = join_fragments(_EARLY, _LATE)
_NULLS = {"index": 1, "id": None, "function": {"name": None}}


class ToolCallNameLate(Fix):
    """Let fragments wait for the name; one without anything is dropped."""

    name = "tool-call-name-late"
    changes = "arguments before `function.name` -> with it"
    why = "The AI SDK expects the name in a call's first fragment, and raises."
    providers = ("SGLang", "Workers AI (a last fragment of nulls)")
    sources = (
        "https://github.com/vercel/ai/issues/15879",
        "https://github.com/cloudflare/ai/blob/main/packages/workers-ai-provider/src/streaming.ts",
    )
    examples = (
        Example(
            "late",
            [calling(_EARLY), calling(_LATE)],
            [chunk({}), calling(_JOINED)],
            ended=False,
        ),
        Example("nulls", [calling(head(), _NULLS)], [calling(head())], ended=False),
        Example.untouched("first", [calling(head()), calling(rest())]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._unnamed = Unnamed()
        self._frame: Chunk = {}
        self._late = -1  # the last event with a fragment that waits

    def edit(self, chunk: Chunk) -> bool:
        """Take out what has no name, and put it to what has."""
        changed, n = False, self.seen.n
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            found = calls(delta)
            named = [
                call if index_of(call) in known else self._unnamed.take(index, call, n)
                for call in found
            ]
            kept = [call for call in named if call]
            if kept != found:
                changed = True
                self._frame, self._late = envelope_of(chunk), n
                put_calls(delta, kept)
        return changed

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Send what waits before its choice ends, or when it is too much."""
        n = self.seen.n
        ended = {index_of(each) for each in choices(chunk) if each.get("finish_reason")}
        # A finish beside a fragment is not the last: there are servers that repeat it.
        due = self._unnamed.release(ended if self._late < n else set(), n)
        return [*map(self._alone, due), chunk] if due else None

    def flush(self) -> list[Chunk]:
        """Send what never got a name."""
        return [self._alone(each) for each in self._unnamed.release(None, -1)]

    def undo(self, n: int) -> None:
        """Let wait what waited before the event."""
        self._unnamed.undo(n)

    def _alone(self, due: tuple[int, Chunk]) -> Chunk:
        index, call = due
        choice = {"index": index, "delta": {"tool_calls": [call]}}
        return {**self._frame, "choices": [{**choice, "finish_reason": None}]}
