"""What the end of a stream waits for, and what has been sent of it: one state.

The fixes that act there change it, at the hooks that they name (`Fix.end_hooks`), by
what it can do. What waits:

* An opening that may turn out a tool call's, or a `{}` that may not be all of a call's
  arguments, for one event.
* The last finish reason, if the request did not ask for usage and none has been seen:
  usage that nobody asked for must ride on it. What else its choice still says overtakes
  it.
* A finish reason on the first words of its choice, and each one later if more words
  followed it: there are providers that put one on every chunk. So does one on a call
  without arguments, which may follow.
* Usage that was asked for and was sent before every choice had finished.
"""

from collections.abc import Callable, Container, Sequence
from typing import Protocol

from ...chat.chunks.chunk import (
    ENVELOPE,
    Chunk,
    choices,
    drop_other_usage,
    envelope_of,
    index_of,
    usage_of,
)
from ...chat.chunks.chunk_content import speaks
from ...chat.conversion import counts
from ...chat.errors.chunk_errors import errors_in
from ...chat.extra_fields import MAX_EXTRA_BYTES, fails, size_of
from ...chat.finish_words import finished_of, rest_of
from ...chat.stream_state import Asked, Seen
from ...wire.json_text import Json, frozen
from ..outcome import ChunkSender, EventRecord, Outgoing
from .choice_progress import ChoiceProgress
from .end_hook import EndHook

CHOICES = "choices-empty"
NAME_LATE = "tool-call-name-late"
_FRAME = ENVELOPE | {"choices", "usage", "obfuscation"}


class EndHandler(Protocol):
    """A fix, as far as the end of a stream goes: see `Fix`."""

    def at_end(self, hook: EndHook, end: "EndState", outgoing: Outgoing) -> bool:
        """Act, and answer."""


class EndHandlers(Protocol):
    """The fixes of a stream, as far as its end goes: see `Chain`."""

    @property
    def end_hooks(self) -> Container[EndHook]:
        """When any is asked."""

    def at(self, hook: EndHook) -> Sequence[EndHandler]:
        """Return those that are asked at this *hook*."""


def _has_any(logprobs: Json) -> bool:
    return isinstance(logprobs, dict) and any(logprobs.values())


class EndState(ChoiceProgress):
    """The end of one stream.

    Args:
        asked: What the request asked.
        seen: What the stream has sent, recorded by the pipeline.
        fixes: The fixes of the stream, by the hooks at which they act.
        sender: Where chunks are sent and wait.
        close: Sends what the fixes hold of choices that end, as part of a record.
    """

    def __init__(
        self,
        asked: Asked,
        seen: Seen,
        fixes: EndHandlers,
        sender: ChunkSender,
        close: Callable[[EventRecord, set[int] | None], None],
    ) -> None:
        super().__init__(asked, seen)
        self.sender = sender
        self.close = close
        self._fixes = fixes
        self.opening: Outgoing | None = None
        """The opening, or the `{}`, that waits for one event."""
        self._is_brief = False
        self.finish: Outgoing | None = None
        """The bare finish that waits for what may follow."""
        self.usage_chunk: Outgoing | None = None
        """The usage chunk that waits for the finish reasons."""
        self._usage_chunk_fix = ""  # for which it waits
        self.held_usage: Json = None
        """The last usage taken off a chunk, not sent yet."""
        self.held_usage_fix = ""
        """The name of the fix that took it off."""
        self.extra_fields: Chunk = {}
        """What dropped chunks held beside choices and usage, not sent yet."""
        self._extra_size = 0  # bytes of `extra_fields`, and of those on the held finish
        self.last: Outgoing | None = None
        """The last chunk."""
        self.doubtful = False
        """Whether an event was not understood, which may have said why all ended."""
        self.doubted = False
        """Whether a choice went on after a finish reason."""
        self.usage_sent = False
        self.waited_enough = False
        """Whether the last finish reason was sent because it had waited long enough."""
        self._suspects = False  # that the last finish that waited is one of many
        self._overtaken = 0  # how often a finish that waits has been overtaken
        self.done = False
        """Whether `[DONE]` has been sent."""
        self.cut = False
        """Whether the last block has no end: nothing can follow it."""

    def run_hook(self, hook: EndHook, outgoing: Outgoing) -> bool:
        """Let the fixes act on *outgoing* that do at this *hook*; tell what they say."""
        if hook not in self._fixes.end_hooks:
            return False
        fixes = self._fixes.at(hook)
        return any(fix.at_end(hook, self, outgoing) for fix in fixes)

    def has_handler(self, hook: EndHook) -> bool:
        """Tell whether any fix acts at this *hook*."""
        return hook in self._fixes.end_hooks

    @property
    def held_chunks(self) -> list[Outgoing]:
        """All that waits."""
        found = (self.opening, self.finish, self.usage_chunk)
        return [outgoing for outgoing in found if outgoing is not None]

    @property
    def has_held_data(self) -> bool:
        """Whether anything waits, figures and notes among it."""
        return bool(self.held_chunks or self.held_usage or self.extra_fields)

    @property
    def is_traceable(self) -> bool:
        """Whether nothing waits but maybe a finish."""
        held = self.opening or self.usage_chunk or self.held_usage
        return not (held or self.extra_fields)

    @property
    def can_send_usage(self) -> bool:
        """Whether there are figures to be sent that nothing has to follow."""
        has_some = self.usage_chunk is not None or counts(self.held_usage)
        return has_some and self.asked.usage and self.is_over and not self._suspects

    @property
    def mark(self) -> object:
        """What waits for a moment only, to be compared; None if nothing does."""
        opening, finish, due = self.opening, self.finish, self.can_send_usage
        if not (opening or finish or due):
            return None
        held = [each.record.n if each else None for each in (opening, finish)]
        return (*held, self._overtaken, due)

    @property
    def snapshot(self) -> object:
        """What decides on the next chunk, to be compared; None while anything waits.

        The figures do not decide: later ones replace them.
        """
        if self.opening or self.finish or self.usage_chunk or self.extra_fields:
            return None
        known = frozenset(self.opened), frozenset(self.finished)
        began = tuple(self.begun.items()), tuple(self.thought.items())
        flags = self.doubtful, self.doubted, self.usage_sent, self.done, self.cut
        usage = bool(self.held_usage), self.held_usage_fix
        return known, began, flags, usage, frozen(self.envelope() | {"choices": None})

    def envelope(self) -> Chunk:
        """Return the envelope of the last chunk, for one that is added."""
        return envelope_of(self.last.chunk) if self.last else {}

    def take_held_chunks(self) -> list[Outgoing]:
        """Let nothing wait any more, and return what did."""
        waiting = self.held_chunks
        self.opening = self.finish = self.usage_chunk = None
        return waiting

    def add(self, outgoing: Outgoing) -> None:
        """Send *outgoing*, which the provider left out."""
        self.sender.send(outgoing)
        self.sender.close(outgoing.record)

    @property
    def unfinished(self) -> list[int]:
        """The choices that the provider's `[DONE]` says have finished."""
        sure = not (self.seen.error or self.doubtful)
        adds = sure and self.has_handler(EndHook.UNFINISHED)
        return sorted(self.opened - self.finished) if adds else []

    # -- an opening --------------------------------------------------------------

    def hold_opening(self, outgoing: Outgoing, *, briefly: bool = False) -> None:
        """Let *outgoing* wait for one event; if *briefly*, a keep-alive is one, too."""
        self.opening = self.sender.hold(outgoing)
        self._is_brief = briefly

    @property
    def waits_briefly(self) -> bool:
        """Whether something waits that no keep-alive overtakes."""
        return self.opening is not None and self._is_brief

    def send_opening(self) -> None:
        """Send the opening that waits, if any."""
        outgoing, self.opening = self.opening, None
        if outgoing is None:
            return
        if self.run_hook(EndHook.OPENING_SENT, outgoing):
            self.hold_extra_fields(outgoing.chunk, outgoing.record.fixes[-1])
            self.sender.drop(outgoing)
        else:
            self.sender.release(outgoing)

    # -- finish reasons ----------------------------------------------------------

    def is_doubtful(self, outgoing: Outgoing) -> bool:
        """Tell whether the finish in *outgoing* may be one of many.

        It is if its choice began to think or to answer, or opened a call, in this very
        block, even without a name, or has said nothing: there are providers that put one
        on every chunk, or on every call.
        """
        ended = finished_of(outgoing.chunk)
        begun = [self.begun.get(index) for index in ended]
        thought = [self.thought.get(index) for index in ended]
        empty = None in begun and not usage_of(outgoing.chunk)
        unnamed = NAME_LATE in outgoing.record.fixes
        first = outgoing.record in begun or outgoing.record in thought
        return self.doubted or empty or unnamed or first

    def lacks_arguments(self, outgoing: Outgoing | None) -> bool:
        """Tell whether the finish in *outgoing* ends a call whose arguments may follow it."""
        return outgoing is not None and any(self.hollow_calls(outgoing.chunk))

    def hold_finish(self, outgoing: Outgoing) -> None:
        """Let *outgoing* wait."""
        self._suspects = self.is_doubtful(outgoing)
        self.finish = self.sender.hold(outgoing)
        self._extra_size = 0

    def release_finish(self) -> None:
        """Send the finish that waits, if any."""
        outgoing, self.finish = self.finish, None
        if outgoing is not None:
            self.run_hook(EndHook.WAITED_FINISH, outgoing)
            self.send_finish(outgoing)
            self.sender.drop(outgoing)

    def send_finish(self, outgoing: Outgoing) -> None:
        """Send a finish, after what the calls of its choice still lack.

        That is arguments where there are none, then calls that never got a name.
        """
        self.run_hook(EndHook.CLOSED_CALLS, outgoing)
        self.send_closed(outgoing, finished_of(outgoing.chunk))

    def send_closed(self, outgoing: Outgoing, finished: set[int]) -> None:
        """Send *outgoing*, which ends choices, after what the fixes hold of them."""
        self.close(outgoing.record, finished)
        self.run_hook(EndHook.SENT_FINISH, outgoing)
        self.sender.send(outgoing)

    def send_before(self, outgoing: Outgoing, chunk: Chunk, fix: str) -> None:
        """Send *chunk*, which *fix* adds, before *outgoing*: in its record if it has bytes."""
        if outgoing.record.before is None:
            self.sender.add(outgoing.record.n, chunk, fix)
        else:
            outgoing.record.fixed(fix)
            self.sender.send(Outgoing(outgoing.record, chunk, None))

    def add_finish(self, outgoing: Outgoing) -> None:
        """Send *outgoing*, a finish reason that the provider left out."""
        chunk = outgoing.chunk
        self.finished |= finished_of(chunk)
        self.run_hook(EndHook.CLOSED_CALLS, outgoing)
        self.close_choices(outgoing.record.n, finished_of(chunk))
        if self.held_usage and self.all_finished and not self.asked.usage:
            self.attach_usage(chunk)
        self.attach_extra_fields(chunk)
        self.add(outgoing)

    def close_choices(self, n: int, indexes: set[int] | None = None) -> None:
        """Send what the fixes hold of choices that end, all if None, after event *n*."""
        record = EventRecord(n, None)
        self.close(record, indexes)
        if record.fixes:
            self.sender.close(record)

    def overtake_finish(self, fix: str) -> None:
        """Let what its choice still says be sent before the finish that waits."""
        assert self.finish is not None
        self.doubted = True
        self._overtaken += 1
        self.finish.record.fixed(fix)
        self.finish.record.moved = True
        self.run_hook(EndHook.OVERTAKEN_FINISH, self.finish)

    def overrule(self, chunk: Chunk, fix: str) -> None:
        """Let a `stop` that waits give way to the more telling reason of *chunk*."""
        outgoing = self.finish
        if outgoing is None:
            return
        reasons = {index_of(each): each["finish_reason"] for each in choices(chunk)}
        for choice in choices(outgoing.chunk):
            reason = reasons.get(index_of(choice), "stop")
            if choice["finish_reason"] == "stop" != reason:
                choice["finish_reason"] = reason
                outgoing.fixed(fix)

    def merge_into_first_finish(self, outgoing: Outgoing, fix: str) -> Outgoing | None:
        """Let what the choices of *outgoing*, a repeated finish, bring ride on the first.

        Returns:
            The log probabilities of choices whose first has been sent or has some too, and
            what is too much to wait, in a chunk without a reason; None without any.
        """
        found = {index_of(each): rest_of(each) for each in choices(outgoing.chunk)}
        waiting = choices(self.finish.chunk) if self.finish else []
        over: set[int] = set()
        for choice in waiting:
            rest = found.pop(index_of(choice), {})
            new = {k: v for k, v in rest.items() if choice.get(k) is None}
            if choice.get("logprobs") and rest.get("logprobs"):
                # What waits must not grow: the first ones need not wait.
                found[index_of(choice)] = {"logprobs": choice["logprobs"]}
                new["logprobs"] = rest["logprobs"]
            self._extra_size += size_of(new)
            if new and self._extra_size > MAX_EXTRA_BYTES:
                found[index_of(choice)] = {**new, **found.get(index_of(choice), {})}
                over.add(index_of(choice))
            elif self.finish and new:
                self.finish.fixed(fix)
                choice.update(new)
        more = [
            {"index": index, "delta": {}, "finish_reason": None, **rest}
            for index, rest in found.items()
            if index in over or _has_any(rest.get("logprobs"))
        ]
        if not more:
            return None
        late = {**envelope_of(outgoing.chunk), "choices": more}
        return Outgoing(outgoing.record, late, None)

    # -- usage: figures taken off, and a chunk of its own --------------------------

    def hold_usage(self, chunk: Chunk, fix: str) -> None:
        """Keep the usage of *chunk*, which *fix* takes off it; zeros replace nothing.

        What was not asked for has no place once the finish has waited long enough for it.
        """
        usage = usage_of(chunk)
        if self.waited_enough and self.all_finished and not self.asked.usage:
            return
        if self.finish is not None and usage_of(self.finish.chunk):
            if counts(usage):
                self.finish.fixed(fix)
                self.finish.chunk["usage"] = usage
                self.mark_usage_sent()
        elif not self.usage_sent and (counts(usage) or not self.held_usage):
            self.held_usage = usage
            self.held_usage_fix = fix

    def take_usage_off(self, outgoing: Outgoing, fix: str) -> None:
        """Keep the usage of *outgoing*, with choices, and take it off."""
        chunk = outgoing.chunk
        self.hold_usage(chunk, fix)
        drop_other_usage(chunk, self.held_usage or chunk["usage"])
        if self.asked.usage:
            chunk["usage"] = None  # as in OpenAI's own chunks before the last
        else:
            del chunk["usage"]
        if errors_in(chunk):  # words beside figures are none, and alone would be
            self.strip_extra_fields(chunk, fix)
        outgoing.fixed(fix)

    def take_usage_back(self, outgoing: Outgoing, fix: str) -> None:
        """Take the figures off a finish that waits, and keep them."""
        self.held_usage_fix = fix
        self.held_usage, self.usage_sent = outgoing.chunk.pop("usage"), False
        drop_other_usage(outgoing.chunk, self.held_usage)
        outgoing.fixed(fix)

    def attach_usage(self, chunk: Chunk) -> None:
        """Put the figures on *chunk*."""
        chunk["usage"] = self.held_usage
        self.held_usage = None
        self.usage_sent = True

    def mark_usage_sent(self) -> None:
        """Record that a chunk with usage is sent as it is."""
        self.held_usage = None
        self.usage_sent = True

    def attach_usage_to_finish(self) -> None:
        """Let the figures ride on the finish reason that waits for them."""
        if self.finish is None or not self.all_finished or self.asked.usage:
            return
        if self.held_usage:
            self.finish.fixed(self.held_usage_fix)
            self.attach_usage(self.finish.chunk)
            self.release_complete_finish()

    def release_complete_finish(self) -> None:
        """Send the finish that waits, unless its call has no arguments yet."""
        if not self.lacks_arguments(self.finish):
            self.release_finish()

    @property
    def is_over(self) -> bool:
        """Whether all has finished, and no choice went on after that."""
        return self.all_finished and not self.doubted

    def hold_usage_chunk(self, outgoing: Outgoing, fix: str) -> None:
        """Let *outgoing*, a usage chunk, wait for *fix*."""
        self.drop_usage_chunk()
        self.usage_chunk = self.sender.hold(outgoing)
        self._usage_chunk_fix = fix

    def drop_usage_chunk(self) -> None:
        """Drop the usage chunk that waits, if any: there is a later one."""
        outgoing, self.usage_chunk = self.usage_chunk, None
        if outgoing is not None:
            outgoing.fixed(self._usage_chunk_fix)
            self.sender.drop(outgoing)
            self.hold_extra_fields(outgoing.chunk, self._usage_chunk_fix)

    def bare_choices(self) -> list[Chunk]:
        """Return a choice that says nothing, for what rides on it.

        Nobody asked: a chunk without choices would crash short loops.
        """
        if not self.opened:
            return []
        index = min(self.opened - self.finished or self.opened)
        return [{"index": index, "delta": {}, "finish_reason": None}]

    def flush_usage(self, n: int) -> None:
        """Send usage that found no place before event *n* was over."""
        envelope = self.envelope()
        if self.usage_chunk is not None:
            outgoing, self.usage_chunk = self.usage_chunk, None
            self.add_extra_fields(outgoing)
            self.mark_usage_sent()
            self.sender.release(outgoing)
        if self.held_usage and not self.opened - self.finished:
            self._add_usage(n, envelope)
        self.flush_extra_fields(n)
        if self.extra_fields and self.asked.usage:
            self._send_extra_fields(n, {**envelope, "choices": []})
        elif self.extra_fields and self.waited_enough:  # there is no finish to ride on
            self._send_extra_fields(n, {**envelope, "choices": self.bare_choices()})
        if self.held_usage:  # on its own: it does not stay on a chunk that goes on
            self._add_usage(n, envelope)
        if self.extra_fields:  # all else that they could ride on has been sent
            opening = {"role": "assistant", "content": ""}
            opened = {"index": 0, "delta": opening, "finish_reason": None}
            found = self.bare_choices() or [opened]
            self._send_extra_fields(n, {**envelope, "choices": found})

    def _add_usage(self, n: int, envelope: Chunk) -> None:
        found = [] if self.asked.usage else self.bare_choices()
        chunk = {**envelope, "choices": found}
        self.attach_extra_fields(chunk)
        self.attach_usage(chunk)
        self.sender.add(n, chunk, self.held_usage_fix)

    # -- notes: what dropped chunks held besides -----------------------------------

    def hold_extra_fields(self, chunk: Chunk, fix: str) -> None:
        """Let what *chunk*, dropped by *fix*, says beside choices and usage ride along.

        On the finish that waits, else on the next chunk, or on one of its own: at once
        where too much would wait.
        """
        drop_other_usage(rest := dict(chunk))
        empty: tuple[Json, ...] = (None, "", [], {})
        extra = {k: v for k, v in rest.items() if k not in _FRAME and v not in empty}
        if not extra:
            return
        if self.finish is None and not self.extra_fields:
            self._extra_size = 0
        held = self.extra_fields
        known = {key: held[key] for key in extra if key in held}
        self._extra_size += size_of(extra) - size_of(known)
        if self._extra_size > MAX_EXTRA_BYTES:
            self.extra_fields |= extra
            self._send_extra_fields_now()
        elif self.finish is not None:
            self.finish.fixed(fix)
            self._put(extra, self.finish.chunk)
        else:
            self.extra_fields |= extra

    def _send_extra_fields_now(self) -> None:
        """Send the notes now."""
        goes_on = self.finish is not None or self.opened - self.finished
        found = self.bare_choices() if goes_on or not self.asked.usage else []
        n = self.last.record.n if self.last else 0
        self._send_extra_fields(n, {**self.envelope(), "choices": found})

    def hold_extras_and_send(self, chunk: Chunk, fix: str) -> None:
        """Keep what *chunk*, dropped by *fix*, says beside its figures, and send both."""
        self.hold_extra_fields(chunk, fix)
        # Where nothing is counted, the figures may be still to come.
        if self.is_over and counts(self.held_usage):
            self.attach_usage_to_finish()

    def strip_extra_fields(self, chunk: Chunk, fix: str) -> None:
        """Take the notes off *chunk*, which would be an error with them."""
        self.hold_extra_fields(chunk, fix)
        for key in chunk.keys() - _FRAME:
            del chunk[key]

    def add_extra_fields(self, outgoing: Outgoing) -> None:
        """Put the notes on a new chunk."""
        if self.extra_fields and not fails({**self.extra_fields, **outgoing.chunk}):
            outgoing.fixed(CHOICES)
            self.attach_extra_fields(outgoing.chunk)

    def attach_extra_fields(self, chunk: Chunk) -> None:
        """Put the notes on *chunk*."""
        extra, self.extra_fields = self.extra_fields, {}
        self._put(extra, chunk)

    def _put(self, extra: Chunk, chunk: Chunk) -> None:
        for key, value in extra.items():
            chunk.setdefault(key, value)
        if self.asked.usage and speaks(extra):
            chunk.setdefault("usage", None)  # as where the figures are taken off it

    def flush_extra_fields(self, n: int) -> None:
        """Send notes that found no place before event *n* with a choice that goes on.

        A second repair would not let them wait either: what waits follows them.
        """
        if self.extra_fields and self.opened - self.finished:
            chunk = {**self.envelope(), "choices": self.bare_choices()}
            if self.held_usage and errors_in({**self.extra_fields, **chunk}):
                return  # they go with the figures, beside which they are no error
            self._send_extra_fields(n, chunk)

    def _send_extra_fields(self, n: int, chunk: Chunk) -> None:
        """Send the notes on *chunk*, but no words that would be an error there."""
        self.extra_fields = {
            key: value
            for key, value in self.extra_fields.items()
            if not fails({**chunk, key: value})
        }
        if self.extra_fields:
            self.attach_extra_fields(chunk)
            self.sender.add(n, chunk, CHOICES)
