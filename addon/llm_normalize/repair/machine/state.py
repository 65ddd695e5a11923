"""The state of one stream: its choices, what is held of it, and what has been sent."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...chat.chunks.chunk import (
    REASONING,
    Chunk,
    calls,
    choices,
    deltas,
    envelope_of,
    function,
    index_of,
    usage_of,
)
from ...chat.chunks.chunk_content import has_answer
from ...chat.chunks.finish_words import CUT_SHORT, finished_of, finishes
from ...chat.chunks.text_growth import GOES_ON
from ...chat.conversion import counts
from ...chat.state.asked import Asked
from ...chat.state.sent_call import SentCall
from ...chat.state.stream_state import MAX_TRACKED, Seen
from ...wire.json_text import Json
from ..outcome import ChunkSender, Close, Outgoing

_ANSWER = frozenset(("content", "tool_calls", "function_call", "refusal", "audio"))
_LATE = "tool-call-name-late"

type Words = tuple[Outgoing, list[str]]
"""An error in place of an event, and the fixes that made it so."""


@dataclass(slots=True, eq=False)
class State:
    """The state of one stream, which only the machine changes.

    Attributes:
        asked: What the request asked.
        seen: What has been sent, recorded before the machine gets it.
        on: The names of the fixes that are on.
        sender: Sends chunks, or holds them.
        close: Sends what the fixes hold of choices that end, as part of a record.
        opened: Indexes of the choices that have begun.
        finished: Indexes of those that have a finish reason.
        last: The last chunk; of a text that went on, the envelope alone.
        opening: An opening, or a `{}`, that is held for one event.
        is_blank: Whether that is a `{}`: it waits however long the event takes.
        finish: A bare finish that is held for what may follow.
        suspects: Whether it may be one of many.
        overtaken: How often a held finish has been overtaken.
        waited_enough: Whether the last one was sent because its hold time was over.
        usage_chunk: A usage chunk that is held until every choice has finished.
        usage: The last usage taken off a chunk, not sent yet.
        usage_fix: The name of the fix that took it off.
        usage_sent: Whether usage has been sent.
        figures: Paths of the unrequested figures that chunks with content
            have brought.
        extra: Other fields of dropped chunks than choices and usage, not sent yet.
        extra_fix: The last fix that held any of them.
        extra_size: Bytes of `extra`, and of those on the held finish.
        words: Words that are an error if nothing follows, and the fixes that make them one.
        doubtful: Whether an event was not understood: it may have been an error or a
            finish.
        has_failed: Whether an error was sent in place of what an event was lost of: only
            `[DONE]` may follow it.
        done: Whether `[DONE]` has been sent.
        cut: Whether the last block has no end: nothing can follow it.
        goes_on: Whether a choice continued after a finish reason, here or in an earlier
            stream of the same host and model.
    """

    asked: Asked
    seen: Seen
    on: frozenset[str]
    sender: ChunkSender
    close: Close
    opened: frozenset[int] = frozenset()
    finished: frozenset[int] = frozenset()
    last: Chunk = field(default_factory=dict)
    opening: Outgoing | None = None
    is_blank: bool = False
    finish: Outgoing | None = None
    suspects: bool = False
    overtaken: int = 0
    waited_enough: bool = False
    usage_chunk: Outgoing | None = None
    usage: Json = None
    usage_fix: str = ""
    usage_sent: bool = False
    figures: frozenset[str] = frozenset()
    extra: Chunk = field(default_factory=dict)
    extra_fix: str = ""
    extra_size: int = 0
    words: tuple[Words, ...] = ()
    doubtful: bool = False
    has_failed: bool = False
    done: bool = False
    cut: bool = False
    goes_on: bool = False

    def __post_init__(self) -> None:
        self.goes_on = GOES_ON in self.asked.growth.known

    # -- the choices -----------------------------------------------------------

    def begin(self, outgoing: Outgoing, indexes: set[int]) -> set[int]:
        """Record which choices begin, up to a limit; return those that are new."""
        new = indexes - self.opened
        if len(self.opened) < MAX_TRACKED:
            self.opened |= indexes
        for index, _, delta in deltas(outgoing.chunk):
            choice = self.seen.choices.get(index)
            if choice is None or index not in self.opened:
                continue
            found = {key for key, value in delta.items() if value}
            opens = "tool_calls" in delta and any(
                function(call).get("name") for call in calls(delta)
            )
            if opens or (choice.begun is None and not _ANSWER.isdisjoint(found)):
                choice.begun = outgoing.record.n
            if choice.thought is None and not found.isdisjoint(REASONING):
                choice.thought = outgoing.record.n
        return new

    def note_continued(self, chunk: Chunk | None = None) -> None:
        """Remember that a choice continued after its finish, if it does so in *chunk*."""
        if self.goes_on:
            return
        found = [] if chunk is None else choices(chunk)
        over = [each for each in found if index_of(each) in self.finished]
        if chunk is None or any(map(has_answer, over)):
            self.goes_on = True
            self.asked.growth.add(GOES_ON)

    @property
    def all_finished(self) -> bool:
        """Whether all that began have finished, and at least as many as requested."""
        return (
            bool(self.opened)
            and self.opened <= self.finished
            and len(self.finished) >= self.asked.n
        )

    @property
    def is_over(self) -> bool:
        """Whether every choice has finished, and none continued after its finish."""
        return self.all_finished and not self.goes_on

    @property
    def may_lack(self) -> bool:
        """Whether what is missing may have been lost, or sent and not understood."""
        return self.doubtful or self.seen.holes > 0

    @property
    def unfinished(self) -> list[int]:
        """The choices that the provider's `[DONE]` says have finished."""
        sure = "finish-missing" in self.on and not (self.seen.error or self.may_lack)
        return sorted(self.opened - self.finished) if sure else []

    def reason(self, index: int) -> str:
        """Return the reason that the end of choice *index* implies."""
        seen = self.seen.choice(index)
        if self.asked.forced_tool:
            return "stop"
        if seen.called:
            return "tool_calls"
        return "function_call" if seen.legacy_call else "stop"

    def _ended_calls(self, chunk: Chunk) -> Iterator[tuple[int, int, SentCall]]:
        """Yield (choice, index, call) of calls that *chunk* ends.

        None of an answer that is cut short: it ends in them.
        """
        for choice in choices(chunk):
            if finishes(choice) and choice["finish_reason"] not in CUT_SHORT:
                index = index_of(choice)
                for at, call in self.seen.choice(index).calls.items():
                    yield index, at, call

    def hollow_calls(self, chunk: Chunk) -> Iterator[tuple[int, int, SentCall]]:
        """Yield (choice, index, call) of calls without arguments that *chunk* ends."""
        return (each for each in self._ended_calls(chunk) if each[2].is_hollow)

    def lacks_arguments(self, outgoing: Outgoing | None) -> bool:
        """Tell whether *outgoing* finishes a call whose arguments may follow it."""
        if outgoing is None or not self.seen.calls:
            return False
        found = self._ended_calls(outgoing.chunk)
        return any(call.is_hollow or call.is_cut for _, _, call in found)

    def may_continue(self, chunk: Chunk) -> bool:
        """Tell whether a choice that *chunk* finishes is likely to continue.

        It is where others did, and where its last call has no name yet, or none of the
        arguments that its tool takes.
        """
        if self.goes_on or not (self.seen.calls or self.seen.unnamed):
            return self.goes_on
        if not self.seen.unnamed.isdisjoint(finished_of(chunk)):
            return True
        tools = self.asked.declared
        takes = tools.names - tools.bare
        return any(call.full_name in takes for _, _, call in self.hollow_calls(chunk))

    def is_one_of_many(self, outgoing: Outgoing) -> bool:
        """Tell whether the finish in *outgoing* may be one of many.

        It may if its choice has sent nothing, or started reasoning, an answer or a call
        (even one without a name) in the same block: some providers put a finish on every
        chunk, or on every call.
        """
        ended = finished_of(outgoing.chunk)
        found = [self.seen.choice(index) for index in ended]
        begun = [choice.begun for choice in found]
        thought = [choice.thought for choice in found]
        empty = None in begun and not usage_of(outgoing.chunk)
        unnamed = _LATE in outgoing.record.fixes
        here = outgoing.record.n in (*begun, *thought)
        return self.goes_on or empty or unnamed or here

    # -- what is held ----------------------------------------------------------

    @property
    def holds_chunk(self) -> bool:
        """Whether any chunk is held, or words that may be an error."""
        return bool(self.opening or self.finish or self.usage_chunk or self.words)

    @property
    def held_chunks(self) -> list[Outgoing]:
        """The chunks being held."""
        words = (each for each, _ in self.words)
        found = (self.opening, self.finish, self.usage_chunk, *words)
        return [outgoing for outgoing in found if outgoing is not None]

    @property
    def has_held_data(self) -> bool:
        """Whether any chunk, usage or extra field is held."""
        return bool(self.held_chunks or self.usage or self.extra)

    def take_held_chunks(self) -> list[Outgoing]:
        """Hold no chunk any more, and return those that were held."""
        held = self.held_chunks
        self.opening = self.finish = self.usage_chunk = None
        self.words = ()
        return held

    @property
    def finish_waits_for_event(self) -> bool:
        """Whether a finish is held for the stream's next event, however long it takes."""
        return self.finish is not None and self.may_continue(self.finish.chunk)

    @property
    def can_send_usage(self) -> bool:
        """Whether usage is held that can be sent now: nothing has to precede it."""
        if not (self.asked.usage and self.is_over):
            return False
        has_some = self.usage_chunk is not None or counts(self.usage)
        waits = self.suspects or self.finish_waits_for_event
        return has_some and not waits

    @property
    def mark(self) -> object:
        """What is held for a limited time, to be compared; None if nothing is."""
        opening = None if self.is_blank else self.opening
        finish = None if self.finish_waits_for_event else self.finish
        held, due = (opening, finish), self.can_send_usage
        if not (any(held) or due):
            return None
        return (*[each and each.record.n for each in held], self.overtaken, due)

    # -- what is added ---------------------------------------------------------

    def envelope(self) -> Chunk:
        """Return the envelope of the last chunk, for one that is added."""
        return envelope_of(self.last)

    def bare_choices(self) -> list[Chunk]:
        """Return an empty choice, for a chunk that is added to carry something else.

        A chunk without choices would crash clients that did not ask for usage.
        """
        if not self.opened:
            return []
        index = min(self.opened - self.finished or self.opened)
        return [{"index": index, "delta": {}, "finish_reason": None}]
