"""The machine of a stream: what depends on what was sent before.

The fixes have looked at a chunk alone. What its place in the stream says of it is decided
here: whether it is sent, held, merged into another, or dropped. All that is remembered is
one object, `State`. A quirk is a fix, which may be no more than its declaration: the
machine looks its name up in `State.on`, and records it. Without the name the quirk passes.

A choice is *new* until its first chunk, *open* until its finish reason, then *over*. The
stream is over when all choices are, and as many as requested; `[DONE]` or an error ends it.
One opening, one finish and one usage chunk are held at most, the opening for one event.

| event | state | what is done | by | quirk |
| --- | --- | --- | --- | --- |
| text | choice open, no chunk held | send | `lets_pass` | |
| `content: null` | choice new, request has tools | hold for one event, 100 ms at most; `""` if that is text | `hold_opening` | content-null |
| `{}` as arguments | tool takes some | hold for one event; drop it if that has others | `hold_opening` | tool-call-arguments-blank |
| bare finish | last choice, or its call has no arguments | hold for one event | `finish.waits` | finish-early |
| | reason `tool_calls`, no call | hold for one event | `finish.waits` | finish-without-call |
| | last choice, unasked usage on every chunk | hold for one event | `finish.waits` | usage-every-chunk |
| | last choice, no usage sent nor requested | hold for one event: usage belongs on it | `send_bare_finish` | usage-unasked, finish-repeated |
| | else | send, see below | `send_bare_finish` | |
| text, call | a finish of its choice held | send it before that finish | `finish.overtake` | finish-early, finish-without-call |
| | a finish of another choice held | send that finish first | `release_finish` | |
| | choice over | send; the host is known to go on | `note_continued` | |
| empty delta | choice over | drop the choice | `finish.drop_finished` | choice-after-finish |
| bare finish | choice over | merge into the held one, or drop | `finish.drop_repeated` | finish-repeated |
| usage beside choices | not the last finish | hold the usage, send the rest if any | `usage.take_off_choices` | usage-every-chunk, event-empty |
| | last finish, requested | hold the usage, send the rest if any | `usage.take_off_choices` | usage-with-choices, event-empty |
| | last finish, not requested | send; drop the usage if it was sent, or is on every chunk | `usage.take_off_choices` | usage-repeated, usage-every-chunk |
| usage chunk | not requested | merge into the held finish; drop if on every chunk | `usage.take_unasked` | usage-unasked, usage-every-chunk |
| | requested, was sent | drop | `_usage_chunk` | usage-repeated |
| | requested, a choice open | hold the last one until all are over | `usage.hold_chunk` | usage-early |
| | requested, over | send | `_usage_chunk` | |
| no choices after repair, no usage | | merge its fields into the next chunk | `extra_fields.hold` | choices-empty |
| `[DONE]` | a choice open | add the finish that its calls imply | `add_finish` | finish-missing |
| | sent before | drop | `done` | done-repeated |
| | else | send what is held, then it | `done` | |
| error | | send what is held, then it; add nothing behind it | `error` | |
| plain words | | hold; drop if a chunk follows, else an error | `words` | |
| unreadable event | | send; from now on add no finish, no `[DONE]` | `unknown_event` | |
| call, finish, `[DONE]` | may lack a lost event | send an error in its place, drop what follows | `is_lost` | event-lost |
| any chunk | after the end | send, without its empty choices | `_after_the_end` | choice-after-finish, usage-unasked |
| 100 ms | | send what is held, but what waits for an event | `release` | |
| long silence, break | | send what is held | `release` | |
| clean end | over, no `[DONE]` | send what is held, add `[DONE]` | `end` | done-missing |

**A finish that is sent** follows all of its choice: `{}` for a call without arguments
that is not cut short (tool-call-arguments-missing), then fragments that a fix holds until their call gets its
name (tool-call-name-late). A late name overtakes a held finish, as text does; if none
arrives, the fragments are sent without. Then the reason is made to fit the calls, see
`finish.fit_calls`: `tool_calls` if there are any (finish-stop-with-calls), `stop` if there
are none (finish-without-call), `length` if one is cut (finish-call-cut).

**A finish waits for an event, however long that takes**, if its choice is likely to go on:
others of the host did, or the last call has no name yet, or none of the arguments that its
tool takes. So does a `{}`. A break or a long silence sends both, and the pipeline then lets
a complete stream end (`is_complete`).

**Success is never made up**: a finish is added only before a `[DONE]` that the provider
sent, a `[DONE]` only after the finish of every choice that the provider sent, neither after
an error, nor after what was not understood and may have been one.
"""

from ...chat.chunks.chunk import ENVELOPE, choices, envelope_of, index_of, usage_of
from ...chat.chunks.chunk_content import is_empty_chunk
from ...chat.chunks.finish_words import finished_of, is_bare_finish
from ...chat.conversion import counts
from ...chat.errors.chunk_errors import is_error
from ...chat.state.asked import Asked
from ...chat.state.stream_state import Seen
from ...wire.event_boundary import DONE
from ...wire.sse import encode
from ..look import Finding
from ..outcome import ChunkSender, Close, EventRecord, Outgoing
from . import error_words, extra_fields, finish, sending, usage
from .state import State

_BEGINS = Finding.CONTENT | Finding.ARGUMENTS


class Machine:
    """The machine of one stream, event by event.

    Args:
        asked: What the request asked.
        seen: What the stream has sent, recorded by the pipeline.
        on: The names of the fixes that are on.
        sender: Sends chunks, or holds them.
        close: Sends what the fixes hold of choices that end, as part of a record.
    """

    def __init__(
        self,
        asked: Asked,
        seen: Seen,
        on: frozenset[str],
        sender: ChunkSender,
        close: Close,
    ) -> None:
        self.state = State(asked, seen, on, sender, close)

    # -- a chunk ---------------------------------------------------------------

    def chunk(self, outgoing: Outgoing) -> None:
        """Send a repaired chunk, hold it, or move its fields to another."""
        state, chunk = self.state, outgoing.chunk
        indexes = {index_of(choice) for choice in choices(chunk)}
        if state.seen.holes and sending.is_lost(state, outgoing):
            return
        state.last = chunk
        if state.opening is not None:
            sending.send_opening(state, chunk)
        if state.done or state.seen.error:
            self._after_the_end(outgoing, indexes)
        elif indexes:
            self._with_choices(outgoing, indexes)
        elif usage_of(chunk):
            may_go_on = sending.lacks_part(state, state.finish)
            self._usage_chunk(outgoing, over=state.is_over and not may_go_on)
        elif (
            "choices-empty" in state.on
            and outgoing.raw is None
            and chunk.get("choices") == []
            and "moderation" not in chunk
        ):
            extra_fields.hold(state, chunk, "choices-empty")
        else:
            # OpenAI's moderation follows the finish; usage does only if requested.
            if state.asked.usage or "moderation" in chunk:
                sending.release_finish(state)
            state.sender.send(outgoing)

    @property
    def _rests(self) -> bool:
        """Whether nothing is held but usage, and nothing was lost, has failed, or is over."""
        state = self.state
        over = state.done or state.seen.error or state.seen.holes
        is_held = state.opening or state.finish or state.usage_chunk or state.words
        return not (over or is_held or state.extra)

    def lets_pass(self, text: Outgoing) -> bool:
        """Tell whether a text that goes on can be sent at once, for nothing waits."""
        state = self.state
        (choice,) = text.chunk["choices"]
        index = choice["index"]
        if not self._rests or index not in state.opened or index in state.finished:
            return False
        sent = state.seen.choices.get(index)
        if sent is None:
            return False  # it was opened without a delta
        if text.found & Finding.REASONING and sent.thought is None:
            return False  # not each of its keys counts
        if sent.begun is None and text.found & _BEGINS:
            sent.begun = text.record.n
        # The text would stay until the next event that is parsed.
        state.last = envelope_of(text.chunk) | {"choices": ()}
        return True

    def _with_choices(self, outgoing: Outgoing, indexes: set[int]) -> None:
        """Handle a chunk with choices before the end of the stream."""
        state, chunk = self.state, outgoing.chunk
        if state.extra:
            extra_fields.add(state, outgoing)
        new = state.begin(outgoing, indexes)
        finished = finished_of(chunk)
        if (
            finished
            and finished <= state.finished
            and finish.drop_repeated(state, outgoing, finished)
        ):
            return
        if not indexes.isdisjoint(state.finished):
            state.note_continued(chunk)
            if finish.drop_finished(state, outgoing) and not choices(chunk):
                self._emptied(outgoing)
                return
        ended = finished & state.opened
        state.finished = state.finished | ended if ended else state.finished
        if (
            usage_of(chunk)
            and usage.take_off_choices(state, outgoing, finished)
            and "event-empty" in state.on
            and is_empty_chunk(chunk)
        ):
            outgoing.fixed("event-empty")
            return
        is_bare = bool(finished) and is_bare_finish(chunk, finished)
        held = state.finish
        if (
            held is not None
            and (
                is_bare
                or indexes.isdisjoint(finished_of(held.chunk))
                or not finish.overtake(state, held, outgoing)
            )
            and sending.finish_fails(state, outgoing)
        ):
            return
        if is_bare:
            sending.send_bare_finish(state, outgoing)
        elif finished:
            sending.send_closed(state, outgoing, finished)
        elif not sending.hold_opening(state, outgoing, new):
            state.sender.send(outgoing)

    def _emptied(self, outgoing: Outgoing) -> None:
        """Handle a chunk without its choices, which were over: usage may still follow."""
        state, chunk = self.state, outgoing.chunk
        if usage_of(chunk) and is_error(chunk):
            # With a choice it was not an error.
            extra_fields.strip(state, chunk, finish.AFTER)
        if usage_of(chunk):
            self._usage_chunk(outgoing, over=False)
        else:
            extra_fields.hold(state, chunk, finish.AFTER)

    def _after_the_end(self, outgoing: Outgoing, indexes: set[int]) -> None:
        """Handle a chunk after `[DONE]` or an error: send it without empty choices."""
        state, chunk = self.state, outgoing.chunk
        bare = not any(each.get("delta") for each in choices(chunk))
        if bare and (usage_of(chunk) or not indexes):
            # The calls precede usage and the rest.
            sending.close_choices(state, outgoing.record.n)
        if state.asked.usage or not usage_of(chunk):
            # Without its choices it may be an error, which it was not.
            if not is_error({**chunk, "choices": []}):
                finish.drop_finished(state, outgoing)
        elif (
            not indexes and usage.UNASKED in state.on and state.opened - state.finished
        ):
            chunk["choices"] = state.bare_choices()
            outgoing.fixed(usage.UNASKED)
        empty = outgoing.raw is None and chunk.keys() <= ENVELOPE | {"choices"}
        if choices(chunk) or usage_of(chunk) or not (indexes or empty):
            state.sender.send(outgoing)

    def _usage_chunk(self, outgoing: Outgoing, *, over: bool) -> None:
        """Handle a usage chunk; *over* tells whether every choice has finished."""
        state = self.state
        if not state.asked.usage:
            if not usage.take_unasked(state, outgoing):
                sending.release_finish(state)
                state.sender.send(outgoing)
            # If all counts are zero, the real usage may still follow.
            elif state.is_over and counts(state.usage):
                sending.attach_usage_to_finish(state)
        elif usage.REPEATED in state.on and state.usage_sent:
            outgoing.fixed(usage.REPEATED)
            extra_fields.hold(state, outgoing.chunk, usage.REPEATED)
        elif usage.EARLY in state.on and not over:
            usage.hold_chunk(state, outgoing)
        else:
            usage.drop_chunk(state)
            sending.release_finish(state)
            state.close(outgoing.record, None)
            usage.mark_sent(state)
            state.sender.send(outgoing)

    # -- `[DONE]`, errors, what is not understood --------------------------------------

    def done(self, outgoing: Outgoing) -> None:
        """Send the provider's `[DONE]`, behind all that is held."""
        state, n = self.state, outgoing.record.n - 1
        seen = state.seen
        if state.done and "done-repeated" in state.on:
            outgoing.fixed("done-repeated")
            return
        if self._rests and not state.usage and state.all_finished:
            sending.close_choices(state, n)
            state.done = True
            state.sender.send(outgoing)
            return
        self._send_words()
        unfinished = state.unfinished
        sending.settle(state, last=not unfinished)
        for index in unfinished if not seen.error else ():
            sending.add_finish(state, index, n)
        if seen.holes and (state.opened - state.finished or not state.opened):
            lost = Outgoing(EventRecord(n, None), {}, None)
            sending.fail(state, lost, sending.LOST_END)
        extra_fields.flush(state, n)
        sending.close_choices(state, n)
        if not seen.error:
            usage.flush(state, n)
        state.done = True
        state.sender.send(outgoing)

    def error(self, outgoing: Outgoing) -> None:
        """Send an error, behind all that is held; nothing is added to the stream after it.

        It says more than words before it.
        """
        state = self.state
        error_words.drop(state)
        state.seen.error = True
        sending.send_all(state, outgoing.record.n - 1)
        usage.flush(state, outgoing.record.n - 1)
        state.sender.send(outgoing)

    def _send_words(self) -> None:
        """Send the words that wait: nothing follows, unless all was there before them."""
        state = self.state
        if state.all_finished:
            error_words.drop(state)
        for outgoing, fixes in error_words.take(state):
            for fix in fixes:
                outgoing.record.fixed(fix)
            self.error(outgoing)
            state.sender.drop(outgoing)

    def unknown_event(self) -> None:
        """Make way for an event that is not understood.

        It may itself have been an error or a finish, so neither is added after it.
        """
        state = self.state
        sending.send_opening(state)
        if state.seen.is_hit:  # what is not understood may go on with that call
            sending.fail(state, Outgoing(EventRecord(state.seen.n - 1, None), {}, None))
        if state.asked.usage:  # else usage may follow, which belongs on the finish
            sending.release_finish(state)
        state.doubtful = True

    def unmodified_chunk(self, outgoing: Outgoing) -> None:
        """Make way for a chunk that is sent unmodified."""
        state = self.state
        sending.send_all(state, outgoing.record.n - 1)
        state.seen.note(outgoing.chunk)
        state.begin(outgoing, {index_of(each) for each in choices(outgoing.chunk)})
        state.finished |= finished_of(outgoing.chunk) & state.opened

    # -- the end, a break, and the time -------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """Whether the stream is complete by its own word, although it has not ended.

        It is after `[DONE]`, and where every choice has the finish that the provider sent
        (`end` then adds what is missing).
        """
        state = self.state
        unsure = state.doubtful or state.cut or state.seen.error
        may_end = "done-missing" in state.on and not unsure
        return state.done or (state.is_over and may_end)

    def end(self, count: int) -> None:
        """Send what is held at the clean end of a stream of *count* events, and `[DONE]`."""
        state = self.state
        if state.holds_chunk:
            self._send_words()
        sending.send_all(state, count)
        if state.done or state.cut or state.seen.error:
            return
        usage.flush(state, count)
        # More may follow an empty HTTP/2 frame, see exchange/stream/stream_rewriter.py.
        is_sure = state.all_finished and not state.doubtful
        if is_sure and "done-missing" in state.on:
            state.sender.add(count, encode(DONE), "done-missing")
            state.done = True

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
            sending.send_all(state, n)
        else:
            if not state.is_blank:
                sending.send_opening(state)
            if state.finish is not None and not state.finish_waits_for_event:
                state.waited_enough = True
                sending.attach_usage_to_finish(state)
                sending.release_finish(state)
            sending.close_choices(state, n, briefly=True)
        if last or state.can_send_usage:
            usage.flush(state, n)

    def flush_before(self, n: int, *, last: bool) -> None:
        """Send what is held before block *n*; if *last*, nothing may be added after it.

        For a block whose end has not been received: anything sent after it would continue
        its last line.
        """
        state = self.state
        if last:
            self._send_words()
        sending.send_all(state, n - 1)
        usage.flush(state, n - 1)
        state.cut = state.cut or last

    # -- what waits, for the pipeline ----------------------------------------------------

    def give_up(self, n: int, failed: EventRecord | None) -> None:
        """Send all held chunks before block *n*: the repair of this stream is over.

        Args:
            n: The block.
            failed: The record whose block is about to be sent as received, if any.
        """
        state = self.state
        state.take_held_chunks()
        state.sender.rescue(failed)
        if failed is None or state.usage_fix not in failed.fixes:
            usage.flush(state, n - 1)

    def abandon(self) -> bool:
        """Drop what a stream that broke off still holds; tell whether that is a loss."""
        state = self.state
        opening = state.opening
        held = state.take_held_chunks()
        for outgoing in held:
            state.sender.drop(outgoing)
        is_loss = any(outgoing is not opening for outgoing in held)
        return is_loss or bool(state.usage)

    def join(self, record: EventRecord, data: bytes) -> None:
        """Append the last byte of a line ending to the held chunks of *record*."""
        state = self.state
        for outgoing in state.held_chunks:
            if outgoing.record is not record or outgoing.raw is None:
                continue
            if outgoing.raw.endswith(b"\r"):
                outgoing.raw += data
