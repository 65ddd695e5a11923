"""The progress of a stream's choices: which have begun, answered and finished."""

from collections.abc import Iterator

from ...chat.chunks.chunk import Chunk, calls, choices, deltas, function, index_of
from ...chat.chunks.chunk_content import has_answer
from ...chat.finish_words import finished_of
from ...chat.growing_text import GOES_ON
from ...chat.stream_state import MAX_TRACKED, Asked, Seen
from ...chat.tool_calls.sent_call import Call
from ..outcome import EventRecord, Outgoing

_ANSWER = ("content", "tool_calls", "function_call", "refusal", "audio")
_THOUGHT = ("reasoning_content", "reasoning")


class ChoiceProgress:
    """The progress of the choices of one stream.

    Args:
        asked: What the request asked.
        seen: What the stream has sent, recorded by the pipeline.
    """

    def __init__(self, asked: Asked, seen: Seen) -> None:
        self.asked = asked
        self.seen = seen
        self.opened: set[int] = set()
        """Indexes of the choices that have begun."""
        self.new: set[int] = set()
        """Indexes of those that the last chunk began."""
        self.finished: set[int] = set()
        """Indexes of the choices that have a finish reason."""
        self.begun: dict[int, EventRecord] = {}
        """The record in which a choice sent its first answer or call."""
        self.thought: dict[int, EventRecord] = {}
        """The record in which it sent its first reasoning."""
        self.doubtful = False
        """Whether an event was not understood: it may have been an error or a finish."""
        self.has_failed = False
        """Whether a fix has ended the answer with an error: only `[DONE]` may follow it."""
        self.doubted = GOES_ON in asked.growth.known
        """Whether a choice continued after a finish reason, here or in an earlier stream
        of the same host and model."""

    def begin(self, outgoing: Outgoing, indexes: set[int]) -> None:
        """Record which choices have begun, up to the limit of tracked choices."""
        self.new = indexes - self.opened
        if len(self.opened) < MAX_TRACKED:
            self.opened |= indexes
        for index, _, delta in deltas(outgoing.chunk):
            if index not in self.opened:
                continue
            opens = any(function(call).get("name") for call in calls(delta))
            says = index not in self.begun and any(delta.get(key) for key in _ANSWER)
            if opens or says:
                self.begun[index] = outgoing.record
            if index not in self.thought and any(delta.get(key) for key in _THOUGHT):
                self.thought[index] = outgoing.record

    @property
    def all_finished(self) -> bool:
        """Whether all that began have finished, and at least as many as requested."""
        return (
            bool(self.opened)
            and self.opened <= self.finished
            and len(self.finished) >= self.asked.n
        )

    @property
    def may_lack(self) -> bool:
        """Whether what is missing may have been lost, or sent and not understood."""
        return self.doubtful or self.seen.holes > 0

    @property
    def is_over(self) -> bool:
        """Whether every choice has finished, and none continued after its finish."""
        return self.all_finished and not self.doubted

    def note_continued(self, chunk: Chunk | None = None) -> None:
        """Remember that a choice continued after its finish, if it does so in *chunk*."""
        if self.doubted:
            return
        found = [] if chunk is None else choices(chunk)
        over = [each for each in found if index_of(each) in self.finished]
        if chunk is None or any(map(has_answer, over)):
            self.doubted = True
            self.asked.growth.add(GOES_ON)

    def may_continue(self, chunk: Chunk) -> bool:
        """Tell whether a choice that *chunk* finishes is likely to continue.

        It is where others did, and where its last call has no name yet, or none of the
        arguments that its tool takes.
        """
        unnamed = finished_of(chunk) & self.seen.unnamed
        tools = self.asked.declared
        takes = tools.names - tools.bare
        hollow = (call.full_name for _, _, call in self.hollow_calls(chunk))
        return self.doubted or bool(unnamed) or any(name in takes for name in hollow)

    def hollow_calls(self, chunk: Chunk) -> Iterator[tuple[int, int, Call]]:
        """Yield (choice, index, call) of calls without arguments that *chunk* ends."""
        for choice in sorted(finished_of(chunk)):
            for at, call in self.seen.choice(choice).calls.items():
                if call.name and not call.length and not call.custom:
                    yield choice, at, call

    def lacks_arguments(self, outgoing: Outgoing | None) -> bool:
        """Tell whether *outgoing* finishes a call whose arguments may follow it."""
        return outgoing is not None and any(self.hollow_calls(outgoing.chunk))

    def reason(self, index: int) -> str:
        """Return the reason that the end of choice *index* implies."""
        seen = self.seen.choice(index)
        if self.asked.forced_tool:
            return "stop"
        if seen.called:
            return "tool_calls"
        return "function_call" if seen.legacy_call else "stop"
