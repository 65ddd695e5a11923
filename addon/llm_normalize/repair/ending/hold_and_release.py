"""How a stream ends: the only place that holds an event back, adds one, or closes.

`repair/ending/end_state.py` says what may be held, and why; each fix says what it does
about it.

Success is never made up: a finish reason is added only before a `[DONE]` that the
provider sent, a `[DONE]` only after the finish of every choice that the provider sent,
neither after an error.
"""

from ...chat.chunks.chunk import ENVELOPE, Chunk, choices, index_of, usage_of
from ...chat.conversion import counts
from ...chat.errors.chunk_errors import is_error
from ...chat.errors.errors import sounds_failed
from ...chat.finish_words import finished_of, is_bare_finish
from ...wire.event_boundary import DONE
from ...wire.sse import encode
from ..look import Finding
from ..outcome import EventRecord, Outgoing
from .end_hook import EndHook
from .end_state import EndState

_MOST_WORDS = 8  # events of words that wait


class Ending:
    """The end of one stream, event by event.

    Args:
        state: What is held, and what has been sent.
    """

    def __init__(self, state: EndState) -> None:
        self.state = state
        self._asked, self._seen, self._sender = state.asked, state.seen, state.sender
        self.words: list[tuple[Outgoing, list[str]]] = []
        """Words that are an error if the stream does not go on after them, and what is fixed
        then."""

    def is_at_rest(self, chunk: Chunk) -> bool:
        """Tell whether nothing waits, and the choices of *chunk* have begun and go on."""
        state, seen = self.state, self._seen
        waits = self.words or state.held_chunks or state.extra_fields
        indexes = {index_of(choice) for choice in choices(chunk)}
        goes_on = indexes <= state.opened and not indexes & state.finished
        return goes_on and not (waits or state.done or seen.error or seen.holes)

    def lets_pass(self, text: Outgoing) -> bool:
        """Tell whether nothing waits, and *text* only goes on with one that has begun."""
        state, seen, found = self.state, self._seen, text.found
        waits = state.opening or state.finish or state.usage_chunk or state.extra_fields
        if waits or self.words or state.done or seen.error or seen.holes:
            return False
        index = text.chunk["choices"][0]["index"]
        if index not in state.opened or index in state.finished:
            return False
        if found & Finding.CONTENT:
            state.begun.setdefault(index, text.record)
        if found & Finding.REASONING:
            state.thought.setdefault(index, text.record)
        state.last = text
        return True

    @property
    def has_held_data(self) -> bool:
        """Whether anything is held."""
        return bool(self.words) or self.state.has_held_data

    # -- what is received ------------------------------------------------------

    def chunk(self, outgoing: Outgoing) -> None:
        """Handle a repaired chunk: send it, hold it, or move its fields to another."""
        state = self.state
        if self._seen.holes and state.run_hook(EndHook.LOSS, outgoing):
            return
        state.last = outgoing
        state.send_opening()
        indexes = {index_of(choice) for choice in choices(outgoing.chunk)}
        if state.done or self._seen.error:
            self._late(outgoing, indexes)
        elif not indexes:
            self._alone(outgoing)
        else:
            self._choices(outgoing, indexes)

    def _choices(self, outgoing: Outgoing, indexes: set[int]) -> None:
        """Handle a chunk with choices before the end of the stream."""
        state, chunk = self.state, outgoing.chunk
        state.add_extra_fields(outgoing)
        state.begin(outgoing, indexes)
        finished = finished_of(chunk)
        repeats = finished and finished <= state.finished
        if repeats and state.run_hook(EndHook.REPEATED_FINISH, outgoing):
            return
        over = not indexes.isdisjoint(state.finished)
        if over:
            state.note_continued(chunk)
        fix = state.run_hook(EndHook.FINISHED_CHOICES, outgoing) if over else ""
        if fix and not choices(chunk):
            self._emptied(outgoing, fix)
            return
        state.finished |= finished & state.opened
        if usage_of(chunk) and self._takes_off(outgoing, finished):
            return
        bare = bool(finished) and is_bare_finish(chunk)
        if state.finish:
            self._pass_finish(state.finish, outgoing, indexes, bare=bare)
        if bare:
            self._bare_finish(outgoing)
        elif finished:
            state.send_closed(outgoing, finished)
        elif not (
            state.new and state.run_hook(EndHook.OPENING, outgoing)
        ) and not state.run_hook(EndHook.GOES_ON, outgoing):
            self._sender.send(outgoing)

    def _pass_finish(
        self, held: Outgoing, outgoing: Outgoing, indexes: set[int], *, bare: bool
    ) -> None:
        """Send the held finish before a chunk of other choices.

        A chunk of its own choice may overtake it, unless that is a bare finish, too.
        """
        state = self.state
        is_own = not indexes.isdisjoint(finished_of(held.chunk))
        if not (
            is_own and (bare or state.run_hook(EndHook.GOES_ON_FINISHED, outgoing))
        ):
            state.release_finish()

    def _takes_off(self, outgoing: Outgoing, finished: set[int]) -> bool:
        """Take usage off a chunk with choices where OpenAI would not have put it.

        Returns:
            Whether the chunk was dropped, because nothing else was in it.
        """
        state = self.state
        if finished and state.all_finished and not self._asked.usage:
            taken = state.run_hook(EndHook.USAGE_ON_FINISH, outgoing)
            if not taken and counts(usage_of(outgoing.chunk)):
                state.mark_usage_sent()  # zeros may precede the real usage
        else:
            at_end = finished and self._asked.usage
            beside = EndHook.USAGE_BESIDE_CHOICES
            taken = state.run_hook(
                EndHook.USAGE_BESIDE_FINISH if at_end else beside, outgoing
            )
        return bool(taken and state.run_hook(EndHook.EMPTIED, outgoing))

    def _bare_finish(self, outgoing: Outgoing) -> None:
        state = self.state
        state.release_finish()
        if state.run_hook(EndHook.FINISH, outgoing):
            state.hold_finish(outgoing)
        elif not state.all_finished or self._asked.usage or state.usage_sent:
            state.send_finish(outgoing)
        elif counts(state.held_usage):
            outgoing.fixed(state.held_usage_fix)
            state.attach_usage(outgoing.chunk)
            state.send_finish(outgoing)
        elif state.run_hook(EndHook.LAST_FINISH, outgoing):
            state.hold_finish(outgoing)
        else:
            state.send_finish(outgoing)

    def _alone(self, outgoing: Outgoing) -> None:
        """Handle a chunk without choices: with usage, or without."""
        state = self.state
        if usage_of(outgoing.chunk):
            open_call = state.lacks_arguments(state.finish)
            self._usage(outgoing, over=state.is_over and not open_call)
            return
        if outgoing.raw is None and state.run_hook(EndHook.NO_CHOICES, outgoing):
            return
        # OpenAI's moderation follows the finish; usage does only if requested.
        if self._asked.usage or "moderation" in outgoing.chunk:
            state.release_finish()
        self._sender.send(outgoing)

    def _emptied(self, outgoing: Outgoing, fix: str) -> None:
        """Handle a chunk whose choices *fix* removed: its usage may not be the last."""
        if usage_of(outgoing.chunk) and is_error(outgoing.chunk):
            # With a choice it was not an error.
            self.state.strip_extra_fields(outgoing.chunk, fix)
        if usage_of(outgoing.chunk):
            self._usage(outgoing, over=False)
        else:
            self.state.hold_extra_fields(outgoing.chunk, fix)

    def _usage(self, outgoing: Outgoing, *, over: bool) -> None:
        """Handle a usage chunk; *over* tells whether every choice has finished."""
        state = self.state
        if not self._asked.usage:
            if not state.run_hook(EndHook.USAGE_UNASKED, outgoing):
                state.release_finish()
                self._sender.send(outgoing)
            return
        if state.run_hook(EndHook.USAGE_REPEATED, outgoing):
            return
        if not over and state.run_hook(EndHook.USAGE_EARLY, outgoing):
            return
        state.drop_usage_chunk()
        state.release_finish()
        state.close(outgoing.record, None)
        state.mark_usage_sent()
        self._sender.send(outgoing)

    def _late(self, outgoing: Outgoing, indexes: set[int]) -> None:
        """Handle a chunk after `[DONE]` or an error: send it without empty choices."""
        state = self.state
        bare = not any(each.get("delta") for each in choices(outgoing.chunk))
        if bare and (usage_of(outgoing.chunk) or not indexes):
            state.close_choices(
                outgoing.record.n
            )  # the calls precede usage and the rest
        if self._asked.usage or not usage_of(outgoing.chunk):
            state.run_hook(EndHook.FINISHED_CHOICES, outgoing)
        if not indexes and not self._asked.usage and usage_of(outgoing.chunk):
            state.run_hook(EndHook.USAGE_LATE, outgoing)
        empty = outgoing.raw is None and outgoing.chunk.keys() <= ENVELOPE | {"choices"}
        if (
            choices(outgoing.chunk)
            or usage_of(outgoing.chunk)
            or not (indexes or empty)
        ):
            self._sender.send(outgoing)

    def done(self, outgoing: Outgoing) -> None:
        """Handle the provider's `[DONE]`."""
        state = self.state
        if state.done and state.run_hook(EndHook.REPEATED_DONE, outgoing):
            return
        self._send_words()
        unfinished, n = state.unfinished, outgoing.record.n - 1
        self._settle(last=not unfinished)
        for index in unfinished if not self._seen.error else ():
            choice = {"index": index, "delta": {}, "finish_reason": None}
            chunk = state.envelope() | {"choices": [choice]}
            state.run_hook(
                EndHook.UNFINISHED, Outgoing(EventRecord(n, None), chunk, None)
            )
        if self._seen.holes and (state.opened - state.finished or not state.opened):
            lost = Outgoing(EventRecord(n, None), state.envelope(), None)
            state.run_hook(EndHook.LOSS_OF_FINISH, lost)
        state.flush_extra_fields(n)
        state.close_choices(n)
        if not self._seen.error:
            state.flush_usage(n)
        state.done = True
        self._sender.send(outgoing)

    def error(self, outgoing: Outgoing) -> None:
        """Handle an error event: nothing may be added to the stream after it.

        It tells more than words before it.
        """
        self.drop_words()
        self._seen.error = True
        self._send_all(outgoing.record.n - 1)
        self.state.flush_usage(outgoing.record.n - 1)
        self._sender.send(outgoing)

    def hold_words(self, outgoing: Outgoing, fixes: list[str]) -> None:
        """Hold an error until the next event tells whether the stream goes on."""
        self.words.append((self._sender.hold(outgoing), fixes))
        if len(self.words) > _MOST_WORDS:
            self._drop(self.words.pop()[0])

    def drop_words(self) -> None:
        """Send a newline in place of each: the stream goes on."""
        words, self.words = self.words, []
        for outgoing, _ in words:
            received = outgoing.record.before or b""
            if sounds_failed(received.decode(errors="replace")):
                self._seen.lose(words=True)  # they may stand in place of a chunk
            self._drop(outgoing)

    def _drop(self, words: Outgoing) -> None:
        self._sender.send(Outgoing(words.record, {}, b"\n"))
        self._sender.drop(words)

    def _send_words(self) -> None:
        """Send the words that wait: nothing follows, unless all was there before them."""
        if self.state.all_finished:
            self.drop_words()
        words, self.words = self.words, []
        for outgoing, fixes in words:
            for fix in fixes:
                outgoing.record.fixed(fix)
            self.error(outgoing)
            self._sender.drop(outgoing)

    def unknown_event(self) -> None:
        """Handle an event that is not understood.

        Send a held opening first. The unknown event may itself have been an error or a
        finish, so add neither after it.
        """
        self.state.send_opening()
        if self._seen.is_hit:  # what is not understood may go on with that call
            lost = Outgoing(EventRecord(self._seen.n - 1, None), {}, None)
            self.state.run_hook(EndHook.LOSS_OF_CALL, lost)
        if self._asked.usage:  # else usage may follow, which belongs on the finish
            self.state.release_finish()
        self.state.doubtful = True

    def unmodified_chunk(self, outgoing: Outgoing) -> None:
        """Handle a chunk that is sent unmodified: send what is held first."""
        self._send_all(outgoing.record.n - 1)
        state = self.state
        state.begin(outgoing, {index_of(each) for each in choices(outgoing.chunk)})
        state.finished |= finished_of(outgoing.chunk) & state.opened

    @property
    def is_complete(self) -> bool:
        """Whether the stream is complete by its own word, although it has not ended.

        It is after `[DONE]`, and where every choice has the finish that the provider sent
        (`end` then adds what is missing).
        """
        state = self.state
        unsure = state.doubtful or state.cut or self._seen.error
        may_end = state.has_handler(EndHook.MISSING_DONE) and not unsure
        return state.done or (state.is_over and may_end)

    def release(self, n: int, *, silent: bool, last: bool) -> None:
        """Send what has been held long enough after event *n*, in its current form.

        Args:
            n: The event.
            silent: Whether that is long enough for what waits for the next event, too.
            last: Whether nothing follows, because the stream breaks off.
        """
        state = self.state
        if last or silent:
            state.waited_enough |= silent and state.finish is not None
            if last:
                self._send_words()
            self._send_all(n)
        else:
            if not state.opening_waits_for_event:
                state.send_opening()
            if state.finish is not None and not state.finish_waits_for_event:
                state.waited_enough = True
                state.attach_usage_to_finish()
                state.release_finish()
            state.close_choices(n, briefly=True)
        if last or state.can_send_usage:
            state.flush_usage(n)

    def flush_before(self, n: int, *, last: bool) -> None:
        """Send what is held before block *n*; if *last*, nothing may be added after it.

        For a block whose end has not been received: anything sent after it would continue
        its last line.
        """
        if last:
            self._send_words()
        self._send_all(n - 1)
        self.state.flush_usage(n - 1)
        self.state.cut = self.state.cut or last

    def end(self, count: int) -> None:
        """Handle the clean end of a stream of *count* events."""
        state = self.state
        self._send_words()
        self._send_all(count)
        if state.done or state.cut or self._seen.error:
            return
        state.flush_usage(count)
        sure = state.all_finished and not state.doubtful
        done = Outgoing(EventRecord(count, None), {}, encode(DONE))
        # More may follow an empty HTTP/2 frame, see exchange/stream/stream_rewriter.py.
        state.done = sure and bool(state.run_hook(EndHook.MISSING_DONE, done))

    def _send_all(self, n: int) -> None:
        """Send what is held, except usage, before event *n* is over."""
        self._settle()
        self.state.flush_extra_fields(n)
        self.state.close_choices(n)

    def _settle(self, *, last: bool = True) -> None:
        """Send what is held; attach usage to the finish if that is the *last* one."""
        self.state.send_opening()
        if last:
            self.state.attach_usage_to_finish()
        self.state.release_finish()

    # -- a stream that breaks off ----------------------------------

    def give_up(self, n: int, failed: EventRecord | None) -> None:
        """Send all held chunks before block *n*: the repair of this stream is over.

        Args:
            n: The block.
            failed: The record whose block is about to be sent as received, if any.
        """
        self.state.take_held_chunks()
        self.words.clear()
        self._sender.rescue(failed)
        if failed is None or self.state.held_usage_fix not in failed.fixes:
            self.state.flush_usage(n - 1)

    def abandon(self) -> bool:
        """Drop what a stream that broke off still holds; tell whether that is a loss."""
        opening = self.state.opening
        held = self.state.take_held_chunks() + [each for each, _ in self.words]
        self.words.clear()
        for outgoing in held:
            self._sender.drop(outgoing)
        is_loss = any(outgoing is not opening for outgoing in held)
        return is_loss or bool(self.state.held_usage)

    def join(self, record: EventRecord, data: bytes) -> None:
        """Append the last byte of a line ending to the held chunks of *record*."""
        for outgoing in self.state.held_chunks:
            if outgoing.record is not record or outgoing.raw is None:
                continue
            if outgoing.raw.endswith(b"\r"):
                outgoing.raw += data
