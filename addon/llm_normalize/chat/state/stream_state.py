"""What has been sent to the client so far.

The pipeline updates it; fixes only read it.
"""

from dataclasses import dataclass, field

from ..chunks.chunk import (
    LONG,
    Chunk,
    Tokens,
    calls,
    deltas,
    has_counted,
    index_of,
    tokens_of,
)
from ..chunks.finish_words import FAILED, meaning
from ..errors.chunk_errors import errors_in
from .said_answer import SaidAnswer
from .sent_call import SentCall, SentCalls

SHARED = {"id": str, "created": int, "model": str}
"""Keys whose values all chunks of a stream share, with their kinds."""
_STORED = 256 * 1024  # characters of arguments of the first call; the second gets half
_NO_INDEXES = frozenset[int]()
MAX_TRACKED = 1024
"""Choices and calls of one stream that are tracked, each."""


@dataclass(slots=True)
class ChoiceSeen:
    """What one choice has sent so far.

    Attributes:
        begun: The number of the event in which it sent its first answer or call.
        thought: That of the event in which it sent its first reasoning.
    """

    role: bool = False
    finished: bool = False
    legacy_call: bool = False
    has_legacy: bool = False  # part of a legacy call was sent, with a name or without
    is_legacy_hit: bool = False  # a lost event may have had some of its arguments
    begun: int | None = None
    thought: int | None = None
    calls: SentCalls = field(default_factory=SentCalls)

    @property
    def has_call(self) -> bool:
        """Whether any part of a call was sent, with a name or without."""
        return bool(self.calls) or self.has_legacy

    @property
    def called(self) -> bool:
        """Whether a function was called by name."""
        return any(call.name for call in self.calls.values())


class Seen:
    """What has been sent to the client so far, after all repairs."""

    def __init__(self) -> None:
        self.choices: dict[int, ChoiceSeen] = {}
        self.envelope: Chunk = {}
        """`id`, `created` and `model`, as the first chunk that had them."""
        self.unnamed = _NO_INDEXES
        """Choices with call fragments without a name, which a fix holds."""
        self.error = False
        self.holes = 0
        """The number of lost events that may have been chunks: see `lose`."""
        self.hit = _NO_INDEXES
        """Choices with a call whose name was missing or partial when an event was lost."""
        self.blank: tuple[int, int] | None = None
        """The choice and index of a call whose first arguments, `{}`, are held."""
        self.is_cut = False
        """Whether a part of the answer is missing, for no words stand in its place."""
        self.has_choices = False
        """Whether a chunk with choices was received: no answer is at the top level then."""
        self.is_value = False
        """Whether the current event had no field name, like a body."""
        self.received: dict[tuple[int, str], int] = {}
        """The event in which a key of a choice's deltas had a value first, before any fix."""
        self.is_unsure = False
        """Whether `envelope` may be of a chunk that not all fixes have seen."""
        self.n = 0
        """The number of the current event."""
        self.tokens: Tokens = (None, None)
        """The token counts of the last usage."""
        self.calls = 0
        """The number of calls."""
        self.said = SaidAnswer()
        """What the client may not send back."""

    @property
    def room(self) -> int:
        """Characters of the next call's arguments that are stored; 0 if it is not tracked."""
        return _STORED // (self.calls + 1) if self.calls < MAX_TRACKED else 0

    @property
    def is_hit(self) -> bool:
        """Whether a choice that has not finished has a call that may lack a lost event."""
        return self.holes > 0 and any(
            index in self.hit
            or choice.is_legacy_hit
            or any(call.is_hit for call in choice.calls.values())
            for index, choice in self.choices.items()
            if not choice.finished
        )

    def lose(self, chunk: Chunk | None = None, *, words: bool = False) -> None:
        """Record that an event was lost that may have been a chunk.

        Args:
            chunk: What some clients read of it, not as it was sent.
            words: Whether words of a failure stand in its place, amid an answer that goes
                on: of a call that was open they may have cost a part.
        """
        self.holes += 1
        self.is_cut = self.is_cut or not words
        self.hit |= self.unnamed
        for index, _, delta in deltas(chunk) if chunk else ():
            for call in calls(delta):
                known = self.choice(index).calls.get(index_of(call))
                if known is not None:
                    known.is_hit = True
        for choice in self.choices.values():
            choice.is_legacy_hit = choice.is_legacy_hit or choice.has_legacy
            for sent in choice.calls.values():
                sent.lose()

    def replace_blank(self, choice: int, at: int) -> None:
        """Record that real arguments of a call are sent in place of the `{}` in `blank`."""
        self.choice(choice).calls[at].forget_arguments()
        self.blank = None

    def choice(self, index: int) -> ChoiceSeen:
        """The sent parts of choice *index*; none for a new one."""
        return self.choices.get(index) or ChoiceSeen()

    def note(self, chunk: Chunk) -> None:
        """Record a chunk as it is sent."""
        if len(self.envelope) < len(SHARED):
            self._note_envelope(chunk)
        if chunk.get("usage") and has_counted(chunk):
            self.tokens = tokens_of(chunk["usage"])
        self.error = self.error or bool(errors_in(chunk))
        for index, choice, delta in deltas(chunk):
            if not index:
                self.said.note(delta)
            seen = self.choices.get(index)
            if seen is None:
                if len(self.choices) >= MAX_TRACKED:
                    continue
                seen = self.choices[index] = ChoiceSeen()
            seen.role = seen.role or bool(delta.get("role"))
            if reason := choice.get("finish_reason"):
                seen.finished = True
                self.error = self.error or meaning(reason) == FAILED
            legacy = delta.get("function_call")
            if isinstance(legacy, dict):
                seen.legacy_call = seen.legacy_call or bool(legacy.get("name"))
                has_fields = legacy.get("name") or legacy.get("arguments")
                seen.has_legacy = seen.has_legacy or bool(has_fields)
            for call in calls(delta) if "tool_calls" in delta else ():
                self.calls += seen.calls.note(call, self.room)

    def note_text(self, chunk: Chunk) -> None:
        """Record a chunk, as it is sent, whose one choice goes on with its text alone."""
        (choice,) = chunk["choices"]
        if not choice.get("index"):
            self.said.note(choice["delta"])

    def opened_in(self, chunk: Chunk) -> SentCall:
        """The call of which *chunk* has nothing but more arguments."""
        (choice,) = chunk["choices"]
        (call,) = choice["delta"]["tool_calls"]
        return self.choices[choice["index"]].calls[call["index"]]

    def note_arguments(self, chunk: Chunk) -> None:
        """Record a chunk, as it is sent, which has nothing but more arguments of a call."""
        (call,) = chunk["choices"][0]["delta"]["tool_calls"]
        self.opened_in(chunk).add(call["function"]["arguments"])

    def _note_envelope(self, chunk: Chunk) -> None:
        for key, kind in SHARED.items():
            value = chunk.get(key)
            if not isinstance(value, kind) or not value:
                continue
            # A long text would be written into each later chunk.
            is_long = isinstance(value, str) and len(value) > LONG
            if key not in self.envelope and not is_long:
                self.envelope[key] = value
