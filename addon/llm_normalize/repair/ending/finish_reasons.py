"""Finish reasons: which choices have theirs, and the one that waits."""

from collections.abc import Callable, Iterator

from ...chat.chunk import (
    Chunk,
    calls,
    choices,
    deltas,
    envelope_of,
    function,
    index_of,
    usage_of,
)
from ...chat.stream_state import MANY, Asked, Call, Seen
from ..outcome import Outlet, Piece, Step

STOP_WITH_CALLS = "finish-stop-with-calls"
NO_ARGUMENTS = "tool-call-arguments-missing"
NAME_LATE = "tool-call-name-late"
ANSWER = ("content", "tool_calls", "function_call", "refusal", "audio")
_THOUGHT = ("reasoning_content", "reasoning")


def finished_of(chunk: Chunk) -> set[int]:
    """Return the indexes of the choices that *chunk* finishes."""
    return {
        index_of(choice)
        for choice in choices(chunk)
        if isinstance(choice.get("finish_reason"), str)
    }


def is_bare_finish(chunk: Chunk) -> bool:
    """Tell whether *chunk* brings nothing but finish reasons."""
    return len(finished_of(chunk)) == len(chunk.get("choices") or ()) and not any(
        choice.get("delta") for choice in choices(chunk)
    )


def _rest_of(choice: Chunk) -> Chunk:
    """Return what *choice* says beside its reason and its delta."""
    frame = ("index", "delta", "finish_reason")
    return {k: v for k, v in choice.items() if k not in frame and v is not None}


class Finish:
    """The finish reasons of one stream.

    Args:
        asked: What the request asked.
        seen: What the stream has said, kept by the pipeline.
        on: Names of the fixes that are to be applied.
        outlet: Where pieces leave and wait.
        close: Sends what the fixes hold of choices that end, as part of a step.
    """

    def __init__(
        self,
        asked: Asked,
        seen: Seen,
        on: set[str],
        outlet: Outlet,
        close: Callable[[Step, set[int] | None], None],
    ) -> None:
        self.close = close
        self.waiting: Piece | None = None
        """The bare finish that waits for what may follow."""
        self.opened: set[int] = set()
        """Indexes of the choices that have begun."""
        self.doubtful = False
        """Whether an event was not understood, which may have said why all ended."""
        self.finished: set[int] = set()
        """Indexes of the choices that have a finish reason."""
        self.doubted = False
        """Whether a choice went on after a finish reason."""
        self._begun: dict[int, Step] = {}  # where a choice began to answer, or to call
        self._thought: dict[int, Step] = {}  # where it began to think
        self.asked = asked
        self.seen = seen
        self.on = on
        self.outlet = outlet

    def open(self, piece: Piece, indexes: set[int]) -> None:
        """Note which choices have begun, as far as choices are told apart."""
        if len(self.opened) < MANY:
            self.opened |= indexes
        for index, _, delta in deltas(piece.chunk):
            opens = any(function(call).get("name") for call in calls(delta))
            says = index not in self._begun and any(delta.get(key) for key in ANSWER)
            if index in self.opened and (opens or says):
                self._begun[index] = piece.step
            if index in self.opened and any(delta.get(key) for key in _THOUGHT):
                self._thought.setdefault(index, piece.step)

    def is_doubtful(self, piece: Piece) -> bool:
        """Tell whether the finish in *piece* may be one of many.

        It is if its choice began to think or to answer, or opened a call, in this very
        block, be it without a name, or has said nothing: there are providers that put one
        on every chunk, or on every call.
        """
        ended = finished_of(piece.chunk)
        begun = [self._begun.get(index) for index in ended]
        thought = [self._thought.get(index) for index in ended]
        empty = None in begun and not usage_of(piece.chunk)
        unnamed = NAME_LATE in piece.step.fixes
        first = piece.step in begun or piece.step in thought
        return self.doubted or empty or unnamed or first

    def lacks_arguments(self, piece: Piece) -> bool:
        """Tell whether the finish in *piece* ends a call whose arguments may follow it."""
        return any(any(self._hollow(index)) for index in finished_of(piece.chunk))

    def _hollow(self, index: int) -> Iterator[tuple[int, Call]]:
        """Yield the calls of choice *index* that have no arguments, with their indexes."""
        for at, call in self.seen.choice(index).calls.items():
            if call.name and not call.length and not call.custom:
                yield at, call

    @property
    def state(self) -> list[object]:
        """What decides on the next chunk, while nothing waits."""
        told = (self.doubtful, self.doubted)
        return [self.opened, self.finished, self._begun, self._thought, told]

    @property
    def all_finished(self) -> bool:
        """Whether every choice that began, and was asked for, has finished."""
        return (
            bool(self.opened)
            and self.opened <= self.finished
            and len(self.finished) >= self.asked.n
        )

    def reason(self, index: int) -> str:
        """Return the reason that the end of choice *index* implies."""
        seen = self.seen.choice(index)
        if self.asked.forced_tool:
            return "stop"
        if seen.called:
            return "tool_calls"
        return "function_call" if seen.legacy_call else "stop"

    def hold(self, piece: Piece) -> None:
        """Let *piece* wait."""
        self.waiting = self.outlet.hold(piece)

    def release(self) -> None:
        """Send what waits, if anything; a tool may have been called meanwhile."""
        piece, self.waiting = self.waiting, None
        if piece is None:
            return
        for choice in choices(piece.chunk) if STOP_WITH_CALLS in self.on else ():
            reason = self.reason(index_of(choice))
            less = choice["finish_reason"] in ("stop", "function_call")
            if less and reason == "tool_calls":
                choice["finish_reason"] = reason
                piece.fixed(STOP_WITH_CALLS)
        self.send(piece)
        self.outlet.drop(piece)

    def send(self, piece: Piece) -> None:
        """Send a finish, after what the calls of its choice still lack.

        That is arguments where there are none, then calls that never got a name.
        """
        for chunk in self.left_open(piece.chunk):
            piece.step.fixed(NO_ARGUMENTS)
            self.outlet.send(Piece(piece.step, chunk, None))
        self.close(piece.step, finished_of(piece.chunk))
        self.outlet.send(piece)

    def left_open(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield a chunk with `{}` for each call without arguments that *chunk* ends.

        None where an error cut the call short: its arguments are not known.
        """
        ended = NO_ARGUMENTS in self.on and not self.seen.error
        for index in sorted(finished_of(chunk)) if ended else ():
            for at, call in self._hollow(index):
                call.add("{}")
                delta = {"tool_calls": [{"index": at, "function": {"arguments": "{}"}}]}
                choice = {"index": index, "delta": delta, "finish_reason": None}
                yield {**envelope_of(chunk), "choices": [choice]}

    def overrule(self, chunk: Chunk, fix: str) -> None:
        """Let a `stop` that waits give way to the more telling reason of *chunk*."""
        piece = self.waiting
        if piece is None:
            return
        told = {index_of(each): each["finish_reason"] for each in choices(chunk)}
        for choice in choices(piece.chunk):
            reason = told.get(index_of(choice), "stop")
            if choice["finish_reason"] == "stop" != reason:
                choice["finish_reason"] = reason
                piece.fixed(fix)

    def take_rest(self, piece: Piece, fix: str) -> Piece | None:
        """Let what the choices of *piece*, a repeated finish, bring ride on the first.

        Returns:
            The log probabilities of choices whose first has left or has some too, in a
            chunk without a reason; None without any.
        """
        found = {index_of(each): _rest_of(each) for each in choices(piece.chunk)}
        waiting = choices(self.waiting.chunk) if self.waiting else []
        for choice in waiting:
            rest = found.pop(index_of(choice), {})
            new = {k: v for k, v in rest.items() if choice.get(k) is None}
            if choice.get("logprobs") and rest.get("logprobs"):
                # What waits must not grow: the first ones need not wait.
                found[index_of(choice)] = {"logprobs": choice["logprobs"]}
                new["logprobs"] = rest["logprobs"]
            if self.waiting and new:
                self.waiting.fixed(fix)
                choice.update(new)
        late = [
            {"index": index, "delta": {}, "finish_reason": None, **rest}
            for index, rest in found.items()
            if isinstance(rest.get("logprobs"), dict) and any(rest["logprobs"].values())
        ]
        if not late:
            return None
        return Piece(piece.step, {**envelope_of(piece.chunk), "choices": late}, None)

    def left_out(self) -> list[int]:
        """Return the choices that the provider's `[DONE]` says have finished."""
        unsure = self.seen.error or self.doubtful
        if unsure or "finish-missing" not in self.on:
            return []
        return sorted(self.opened - self.finished)
