"""The state of a stream's end: what is held, and what has been sent.

Fixes change this state through its methods, at the hooks listed in `Fix.end_hooks`. It
holds:

* An opening that may turn out to open a tool call, or a `{}` that may not be all of a
  call's arguments: for one event. The opening is sent after 100 ms, the `{}` is not.
* The last finish reason, if the request did not ask for usage and none has been seen:
  usage that was not requested belongs on it. Later chunks of its choice overtake it.
* A finish reason in the same block as the first text of its choice, and each later one
  if more text followed it: some providers put one on every chunk. Also one on a call
  without arguments, which may follow. It is sent after 100 ms, unless its choice is
  likely to continue (`may_continue`).
* Usage that was requested and arrived before every choice had finished.
"""

from collections.abc import Container, Sequence
from typing import ClassVar, Protocol

from ...chat.chunks.chunk import (
    ENVELOPE,
    Chunk,
    choices,
    drop_other_usage,
    envelope_of,
    index_of,
    usage_of,
)
from ...chat.chunks.chunk_content import chunk_has_content
from ...chat.conversion import counts
from ...chat.errors.chunk_errors import errors_in
from ...chat.extra_fields import MAX_EXTRA_BYTES, fails, size_of
from ...chat.finish_words import finished_of, rest_of
from ...chat.stream_state import Asked, Seen
from ...wire.json_text import Json
from ..outcome import ChunkSender, Close, EventRecord, Outgoing
from .choice_progress import ChoiceProgress
from .end_hook import EndHook

_FRAME = ENVELOPE | {"choices", "usage", "obfuscation"}


class EndHandler(Protocol):
    """What the end of a stream needs of a fix: see `Fix`."""

    name: ClassVar[str]

    def at_end(self, hook: EndHook, end: "EndState", outgoing: Outgoing) -> bool:
        """Act on the chunk; return True if handled, as `EndHook` defines it."""


class EndHandlers(Protocol):
    """What the end of a stream needs of its fixes: see `Chain`."""

    @property
    def holding_calls(self) -> frozenset[str]:
        """The names of the fixes that hold the first fragment of a call."""

    @property
    def end_hooks(self) -> Container[EndHook]:
        """The hooks at which any fix acts."""

    def at(self, hook: EndHook) -> Sequence[EndHandler]:
        """Return the fixes that act at this *hook*."""


def _has_any(logprobs: Json) -> bool:
    return isinstance(logprobs, dict) and any(logprobs.values())


class EndState(ChoiceProgress):
    """The end of one stream.

    Args:
        asked: What the request asked.
        seen: What the stream has sent, recorded by the pipeline.
        fixes: The fixes of the stream, by the hooks at which they act.
        sender: Sends chunks, or holds them.
        close: Sends what the fixes hold of choices that end, as part of a record.
    """

    def __init__(
        self,
        asked: Asked,
        seen: Seen,
        fixes: EndHandlers,
        sender: ChunkSender,
        close: Close,
    ) -> None:
        super().__init__(asked, seen)
        self.sender = sender
        self.close = close
        self._fixes = fixes
        self.opening: Outgoing | None = None
        """The opening, or the `{}`, that is held for one event."""
        self._is_patient = False  # it waits for that event however long it takes
        self.finish: Outgoing | None = None
        """The bare finish that is held for what may follow."""
        self.usage_chunk: Outgoing | None = None
        """The usage chunk that is held until every choice has finished."""
        self._usage_chunk_fix = ""  # the fix that holds it
        self.held_usage: Json = None
        """The last usage taken off a chunk, not sent yet."""
        self.held_usage_fix = ""
        """The name of the fix that took it off."""
        self.extra_fields: Chunk = {}
        """Other fields of dropped chunks than choices and usage, not sent yet."""
        self._extra_fields_fix = ""  # the last fix that held any of them
        self._extra_size = 0  # bytes of `extra_fields`, and of those on the held finish
        self.last: Outgoing | None = None
        """The last chunk."""
        self.usage_sent = False
        self.waited_enough = False
        """Whether the last finish reason was sent because its hold time was over."""
        self._suspects = False  # that the last held finish is one of many
        self._overtaken = 0  # how often a held finish has been overtaken
        self.done = False
        """Whether `[DONE]` has been sent."""
        self.cut = False
        """Whether the last block has no end: nothing can follow it."""

    def run_hook(self, hook: EndHook, outgoing: Outgoing) -> str:
        """Run this *hook* on *outgoing*; return the name of the fix that handled it."""
        if hook not in self._fixes.end_hooks:
            return ""
        acted = (f.name for f in self._fixes.at(hook) if f.at_end(hook, self, outgoing))
        return next(acted, "")

    def has_handler(self, hook: EndHook) -> bool:
        """Tell whether any fix acts at this *hook*."""
        return hook in self._fixes.end_hooks

    @property
    def held_chunks(self) -> list[Outgoing]:
        """The chunks being held."""
        found = (self.opening, self.finish, self.usage_chunk)
        return [outgoing for outgoing in found if outgoing is not None]

    @property
    def has_held_data(self) -> bool:
        """Whether any chunk, usage or extra field is held."""
        return bool(self.held_chunks or self.held_usage or self.extra_fields)

    @property
    def can_send_usage(self) -> bool:
        """Whether usage is held that can be sent now: nothing has to precede it."""
        has_some = self.usage_chunk is not None or counts(self.held_usage)
        waits = self._suspects or self.finish_waits_for_event
        return has_some and self.asked.usage and self.is_over and not waits

    @property
    def finish_waits_for_event(self) -> bool:
        """Whether a finish is held for the stream's next event, however long it takes."""
        return self.finish is not None and self.may_continue(self.finish.chunk)

    @property
    def opening_waits_for_event(self) -> bool:
        """Whether an opening is held for it in the same way."""
        return self.opening is not None and self._is_patient

    @property
    def mark(self) -> object:
        """What is held for a limited time, to be compared; None if nothing is."""
        opening = None if self._is_patient else self.opening
        finish = None if self.finish_waits_for_event else self.finish
        held, due = (opening, finish), self.can_send_usage
        if not (any(held) or due):
            return None
        return (*[each and each.record.n for each in held], self._overtaken, due)

    def envelope(self) -> Chunk:
        """Return the envelope of the last chunk, for one that is added."""
        return envelope_of(self.last.chunk) if self.last else {}

    def take_held_chunks(self) -> list[Outgoing]:
        """Hold no chunk any more, and return those that were held."""
        held = self.held_chunks
        self.opening = self.finish = self.usage_chunk = None
        return held

    def add(self, outgoing: Outgoing) -> None:
        """Send *outgoing*, which the provider left out."""
        self.sender.send(outgoing)
        self.sender.close(outgoing.record)

    @property
    def unfinished(self) -> list[int]:
        """The choices that the provider's `[DONE]` says have finished."""
        sure = not (self.seen.error or self.may_lack)
        adds = sure and self.has_handler(EndHook.UNFINISHED)
        return sorted(self.opened - self.finished) if adds else []

    # -- an opening --------------------------------------------------------------

    def hold_opening(self, outgoing: Outgoing, *, patiently: bool = False) -> None:
        """Hold *outgoing* for one event; for 100 ms at most, unless *patiently*."""
        self.opening = self.sender.hold(outgoing)
        self._is_patient = patiently

    def send_opening(self) -> None:
        """Send the held opening, if any."""
        outgoing, self.opening = self.opening, None
        if outgoing is None:
            return
        if fix := self.run_hook(EndHook.OPENING_SENT, outgoing):
            self.hold_extra_fields(outgoing.chunk, fix)
            self.sender.drop(outgoing)
        else:
            self.sender.release(outgoing)

    # -- finish reasons ----------------------------------------------------------

    def is_doubtful(self, outgoing: Outgoing) -> bool:
        """Tell whether the finish in *outgoing* may be one of many.

        It may if its choice has sent nothing, or started reasoning, an answer or a call
        (even one without a name) in the same block: some providers put a finish on every
        chunk, or on every call.
        """
        ended = finished_of(outgoing.chunk)
        begun = [self.begun.get(index) for index in ended]
        thought = [self.thought.get(index) for index in ended]
        empty = None in begun and not usage_of(outgoing.chunk)
        unnamed = not self._fixes.holding_calls.isdisjoint(outgoing.record.fixes)
        return self.doubted or empty or unnamed or outgoing.record in [*begun, *thought]

    def hold_finish(self, outgoing: Outgoing) -> None:
        """Hold the finish *outgoing*."""
        self._suspects = self.is_doubtful(outgoing)
        self.finish = self.sender.hold(outgoing)
        self._extra_size = 0

    def release_finish(self) -> None:
        """Send the held finish, if any."""
        outgoing, self.finish = self.finish, None
        if outgoing is not None:
            self.run_hook(EndHook.WAITED_FINISH, outgoing)
            self.send_finish(outgoing)
            self.sender.drop(outgoing)

    def send_finish(self, outgoing: Outgoing) -> None:
        """Send a finish, after what the calls of its choice still lack.

        First arguments where there are none, then calls that never got a name.
        """
        if self.seen.holes and self.run_hook(EndHook.LOSS, outgoing):
            return
        self.run_hook(EndHook.CLOSED_CALLS, outgoing)
        self.send_closed(outgoing, finished_of(outgoing.chunk))

    def send_closed(self, outgoing: Outgoing, finished: set[int]) -> None:
        """Send *outgoing*, which ends choices, after what the fixes hold of them."""
        self.close(outgoing.record, finished)
        self.run_hook(EndHook.SENT_FINISH, outgoing)
        self.sender.send(outgoing)

    def send_before(self, outgoing: Outgoing, chunk: Chunk, fix: str) -> None:
        """Send *chunk*, added by *fix*, before *outgoing*: in its record if it has bytes."""
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
        self.run_hook(EndHook.SENT_FINISH, outgoing)
        if self.held_usage and self.all_finished and not self.asked.usage:
            self.attach_usage(chunk)
        self.attach_extra_fields(chunk)
        self.add(outgoing)

    def close_choices(
        self, n: int, indexes: set[int] | None = None, *, briefly: bool = False
    ) -> None:
        """Send what the fixes hold of choices that end, all if None, after event *n*."""
        record = EventRecord(n, None)
        self.close(record, indexes, briefly=briefly)
        if record.fixes:
            self.sender.close(record)

    def overtake_finish(self, fix: str) -> None:
        """Record that a later chunk of its choice is sent before the held finish."""
        assert self.finish is not None
        self.note_continued()
        self._overtaken += 1
        self.finish.record.fixed(fix)
        self.finish.record.moved = True
        self.run_hook(EndHook.OVERTAKEN_FINISH, self.finish)

    def overrule(self, chunk: Chunk, fix: str) -> None:
        """Replace a held `stop` by the more specific reason of *chunk*."""
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
        """Merge the other fields of *outgoing*, a repeated finish, into the first one.

        Returns:
            A chunk without a reason: log probabilities of choices whose first finish has
            been sent or has some too, and what is too large to hold. None if empty.
        """
        found = {index_of(each): rest_of(each) for each in choices(outgoing.chunk)}
        waiting = choices(self.finish.chunk) if self.finish else []
        over: set[int] = set()
        for choice in waiting:
            rest = found.pop(index_of(choice), {})
            new = {k: v for k, v in rest.items() if choice.get(k) is None}
            if choice.get("logprobs") and rest.get("logprobs"):
                # The held finish must not grow: the first ones are sent now.
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

    # -- usage: taken off chunks, and in a chunk of its own ------------------------

    def hold_usage(self, chunk: Chunk, fix: str) -> None:
        """Hold the usage of *chunk*, which *fix* takes off it; zeros replace nothing.

        Unrequested usage is dropped if the finish was sent because its hold time was over.
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
            self.held_usage, self.held_usage_fix = usage, fix

    def take_usage_off(self, outgoing: Outgoing, fix: str) -> None:
        """Take the usage off *outgoing*, which has choices, and hold it."""
        chunk = outgoing.chunk
        self.hold_usage(chunk, fix)
        drop_other_usage(chunk, self.held_usage or chunk["usage"])
        if self.asked.usage:
            chunk["usage"] = None  # as in OpenAI's own chunks before the last
        else:
            del chunk["usage"]
        if errors_in(chunk):  # words that are an error without usage beside them
            self.strip_extra_fields(chunk, fix)
        outgoing.fixed(fix)

    def take_usage_back(self, outgoing: Outgoing, fix: str) -> None:
        """Take the usage off a held finish, and hold it."""
        self.held_usage_fix = fix
        self.held_usage, self.usage_sent = outgoing.chunk.pop("usage"), False
        drop_other_usage(outgoing.chunk, self.held_usage)
        outgoing.fixed(fix)

    def attach_usage(self, chunk: Chunk) -> None:
        """Attach the held usage to *chunk*."""
        chunk["usage"] = self.held_usage
        self.mark_usage_sent()

    def mark_usage_sent(self) -> None:
        """Record that a chunk with usage of its own is sent."""
        self.held_usage = None
        self.usage_sent = True

    def attach_usage_to_finish(self) -> None:
        """Attach the held usage to the held finish, and send that."""
        if self.finish is None or not self.all_finished or self.asked.usage:
            return
        if self.held_usage:
            self.finish.fixed(self.held_usage_fix)
            self.attach_usage(self.finish.chunk)
            self.release_complete_finish()

    def release_complete_finish(self) -> None:
        """Send the held finish, unless its call has no arguments yet."""
        if not self.lacks_arguments(self.finish):
            self.release_finish()

    def hold_usage_chunk(self, outgoing: Outgoing, fix: str) -> None:
        """Hold *outgoing*, a usage chunk, for *fix*."""
        self.drop_usage_chunk()
        self.usage_chunk = self.sender.hold(outgoing)
        self._usage_chunk_fix = fix

    def drop_usage_chunk(self) -> None:
        """Drop the held usage chunk, if any: there is a later one."""
        outgoing, self.usage_chunk = self.usage_chunk, None
        if outgoing is not None:
            outgoing.fixed(self._usage_chunk_fix)
            self.sender.drop(outgoing)
            self.hold_extra_fields(outgoing.chunk, self._usage_chunk_fix)

    def bare_choices(self) -> list[Chunk]:
        """Return an empty choice, for a chunk that is added to carry something else.

        A chunk without choices would crash clients that did not ask for usage.
        """
        if not self.opened:
            return []
        index = min(self.opened - self.finished or self.opened)
        return [{"index": index, "delta": {}, "finish_reason": None}]

    def flush_usage(self, n: int) -> None:
        """Send usage that is still held when event *n* is over."""
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
        elif self.extra_fields and self.waited_enough:  # the finish has been sent
            self._send_extra_fields(n, {**envelope, "choices": self.bare_choices()})
        if self.held_usage:  # on its own: it does not stay on a chunk that goes on
            self._add_usage(n, envelope)
        if self.extra_fields:  # no other chunk is left to attach them to
            opening = {"role": "assistant", "content": ""}
            opened = {"index": 0, "delta": opening, "finish_reason": None}
            envelope["choices"] = self.bare_choices() or [opened]
            self._send_extra_fields(n, envelope)

    def _add_usage(self, n: int, envelope: Chunk) -> None:
        chunk = {**envelope, "choices": [] if self.asked.usage else self.bare_choices()}
        self.attach_extra_fields(chunk)
        self.attach_usage(chunk)
        self.sender.add(n, chunk, self.held_usage_fix)

    # -- extra fields of dropped chunks --------------------------------------------

    def hold_extra_fields(self, chunk: Chunk, fix: str) -> None:
        """Hold the fields of *chunk*, dropped by *fix*, other than choices and usage.

        They go on the held finish, the next chunk or one of their own; many go at once.
        """
        drop_other_usage(rest := dict(chunk))
        empty: tuple[Json, ...] = (None, "", [], {})
        extra = {k: v for k, v in rest.items() if k not in _FRAME and v not in empty}
        if not extra:
            return
        if self.finish is None and not self.extra_fields:
            self._extra_size = 0
        known = {k: self.extra_fields[k] for k in extra if k in self.extra_fields}
        self._extra_size += size_of(extra) - size_of(known)
        is_much = self._extra_size > MAX_EXTRA_BYTES
        if self.finish is not None and not is_much:
            self.finish.fixed(fix)
            self._put(extra, self.finish.chunk)
            return
        self.extra_fields |= extra
        self._extra_fields_fix = fix
        if is_much:
            self._send_extra_fields_now()

    def _send_extra_fields_now(self) -> None:
        """Send the extra fields now."""
        goes_on = self.finish is not None or self.opened - self.finished
        found = self.bare_choices() if goes_on or not self.asked.usage else []
        chunk = {**self.envelope(), "choices": found}
        self._send_extra_fields(self.last.record.n if self.last else 0, chunk)

    def hold_extras_and_send(self, chunk: Chunk, fix: str) -> None:
        """Hold the extra fields of *chunk*, dropped by *fix*; send them with known usage."""
        self.hold_extra_fields(chunk, fix)
        # If all counts are zero, the real usage may still follow.
        if self.is_over and counts(self.held_usage):
            self.attach_usage_to_finish()

    def strip_extra_fields(self, chunk: Chunk, fix: str) -> None:
        """Move the extra fields off *chunk*, which would be an error with them."""
        self.hold_extra_fields(chunk, fix)
        for key in chunk.keys() - _FRAME:
            del chunk[key]

    def add_extra_fields(self, outgoing: Outgoing) -> None:
        """Attach the extra fields to a provider's chunk unless that makes it an error."""
        if self.extra_fields and not fails({**self.extra_fields, **outgoing.chunk}):
            outgoing.fixed(self._extra_fields_fix)
            self.attach_extra_fields(outgoing.chunk)

    def attach_extra_fields(self, chunk: Chunk) -> None:
        """Attach the extra fields to *chunk*."""
        extra, self.extra_fields = self.extra_fields, {}
        self._put(extra, chunk)

    def _put(self, extra: Chunk, chunk: Chunk) -> None:
        for key, value in extra.items():
            chunk.setdefault(key, value)
        if self.asked.usage and chunk_has_content(extra):
            chunk.setdefault("usage", None)  # as where usage is taken off a chunk

    def flush_extra_fields(self, n: int) -> None:
        """Send the extra fields after event *n* if a choice has not finished yet.

        Repairing the output again would not hold them either: held chunks follow them.
        """
        if self.extra_fields and self.opened - self.finished:
            chunk = {**self.envelope(), "choices": self.bare_choices()}
            if self.held_usage and errors_in({**self.extra_fields, **chunk}):
                return  # they are sent with the usage: beside it they are not an error
            self._send_extra_fields(n, chunk)

    def _send_extra_fields(self, n: int, chunk: Chunk) -> None:
        """Send the extra fields on *chunk*, except those that would make it an error."""
        self.extra_fields = {
            key: value
            for key, value in self.extra_fields.items()
            if not fails({**chunk, key: value})
        }
        if self.extra_fields:
            self.attach_extra_fields(chunk)
            self.sender.add(n, chunk, self._extra_fields_fix)
