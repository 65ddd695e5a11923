"""How a stream ends: the only place that holds an event back, adds one, or closes.

What waits, and why nothing else may:

* An opening that may turn out a tool call's, for one event (`repair/ending/opening.py`).
* The last finish reason, if the request did not ask for usage and none has come yet:
  usage that nobody asked for must ride on it (`repair/ending/usage.py`). What else its choice still
  says overtakes it.
* A finish reason on the first words of its choice, and each one later if more words
  came after it: there are providers that put one on every chunk. So does one on a call
  without arguments, which may follow.
* Usage that was asked for and came before every choice had finished.

Success is never made up: a finish reason is added only before a `[DONE]` that the
provider sent, a `[DONE]` only after a finish and a clean end, neither after an error.
"""

from collections.abc import Iterator

from ...chat.chunk import (
    ENVELOPE,
    Chunk,
    choices,
    envelope_of,
    index_of,
    says_nothing,
    speaks_in,
    usage_of,
)
from ...chat.conversion import counts
from ..fast_path.learning import frozen
from ..outcome import Piece, Step
from .finish_reasons import NO_ARGUMENTS, Finish, finished_of, is_bare_finish
from .opening import Opening
from .usage import Usage

AFTER = "choice-after-finish"


class Ending:
    """The end of one stream, and what waits for it.

    Args:
        finish: Its finish reasons.
    """

    def __init__(self, finish: Finish) -> None:
        self._asked, self._seen = finish.asked, finish.seen
        self._on, self._outlet = finish.on, finish.outlet
        self._opening = Opening(self._asked, self._on, self._outlet)
        self._finish = finish
        self._usage = Usage(self._asked, self._on, finish, self._outlet)
        self._done = False
        self._cut = False  # the last block has no end: nothing can follow it
        self._last: Piece | None = None

    # -- what comes in ---------------------------------------------------------

    def chunk(self, piece: Piece) -> None:
        """Take a repaired chunk: send it, hold it, or let it ride on another."""
        chunk = piece.chunk
        self._opening.settle(chunk)
        self._last = piece
        indexes = {index_of(choice) for choice in choices(chunk)}
        if self._done or self._seen.error:
            self._late(piece, indexes)
            return
        if not indexes:
            self._usage.take(piece)
            return
        self._usage.add_notes(piece)
        opened = set(self._finish.opened)
        self._finish.open(piece, indexes)
        finished = finished_of(chunk)
        if finished and finished <= self._finish.finished and self._repeats(piece):
            return
        over = indexes & self._finish.finished
        if self._leave_out(piece, over) and not choices(chunk):
            self._usage.take_last(piece)
            return
        self._finish.finished |= finished & self._finish.opened
        last = self._finish.all_finished
        taken = self._usage.take_off(piece, finishes=bool(finished), last=last)
        if taken and says_nothing(chunk) and "event-empty" in self._on:
            piece.fixed("event-empty")
            return
        bare = bool(finished) and is_bare_finish(chunk)
        waiting = self._finish.waiting
        if waiting and not indexes & finished_of(waiting.chunk):
            self._finish.release()
        elif waiting and not bare:
            self._finish.doubted = True
            waiting.step.fixed("finish-early")
            waiting.step.moved = True
            self._usage.take_back(waiting)
        if self._opening.takes(piece, opened):
            return
        if bare:
            self._bare_finish(piece)
        else:
            self._send(piece, finished)

    def _send(self, piece: Piece, finished: set[int]) -> None:
        if finished:
            self._finish.close(piece.step, finished)
        self._outlet.send(piece)

    def _late(self, piece: Piece, indexes: set[int]) -> None:
        """Take a chunk after `[DONE]` or an error: it passes, but for empty choices."""
        bare = not any(each.get("delta") for each in choices(piece.chunk))
        if bare and (usage_of(piece.chunk) or not indexes):
            self._close(piece.step.n)  # usage and notes follow the calls
        if self._asked.usage or not usage_of(piece.chunk):
            self._leave_out(piece, indexes & self._finish.finished)
        if not indexes and not self._asked.usage and usage_of(piece.chunk):
            self._usage.give_choice(piece)
        empty = piece.raw is None and piece.chunk.keys() <= ENVELOPE | {"choices"}
        if choices(piece.chunk) or usage_of(piece.chunk) or not (indexes or empty):
            self._outlet.send(piece)

    def done(self, piece: Piece) -> None:
        """Take the provider's `[DONE]`."""
        if self._done and "done-repeated" in self._on:
            piece.fixed("done-repeated")
            return
        left_out, n = self._finish.left_out(), piece.step.n - 1
        self._settle(last=not left_out)
        if not self._seen.error:
            self._add_finish(left_out, n)
        self._usage.flush_notes(n, self._envelope())
        self._close(n)
        if not self._seen.error:
            self._usage.flush(n, self._envelope())
        self._done = True
        self._outlet.send(piece)

    def error(self, piece: Piece) -> None:
        """Take an error event: nothing may be added to the stream after it."""
        self._seen.error = True
        self._settle()
        self._usage.flush_notes(piece.step.n - 1, self._envelope())
        self._close(piece.step.n - 1)
        self._usage.flush(piece.step.n - 1, self._envelope())
        self._outlet.send(piece)

    def other(self) -> None:
        """Take note of an event that is not understood.

        What opened comes first. It may have been an error, or a finish reason: none of
        either is made up after it.
        """
        self._opening.settle(None)
        self._finish.doubtful = True

    def make_way(self, n: int, *, last: bool) -> None:
        """Send what waits before block *n*, after which nothing may be added if *last*.

        For a block whose end is not in hand: what followed would be glued to its line.
        """
        self._settle()
        self._usage.flush_notes(n - 1, self._envelope())
        self._close(n - 1)
        self._usage.flush(n - 1, self._envelope())
        self._cut = self._cut or last

    def end(self, count: int) -> None:
        """Take the clean end of a stream of *count* events."""
        self._settle()
        self._usage.flush_notes(count, self._envelope())
        self._close(count)
        if self._done or self._cut or self._seen.error:
            return
        self._usage.flush(count, self._envelope())
        sure = self._finish.all_finished and not self._finish.doubtful
        if sure and "done-missing" in self._on:
            self._done = True  # more may follow an empty HTTP/2 frame, see exchange/stream_rewriter.py
            self._outlet.add(count, b"data: [DONE]\n\n", "done-missing")

    @property
    def state(self) -> object:
        """What decides on the next chunk; None while anything waits."""
        if self._opening.waiting or self._finish.waiting or self._usage.waiting:
            return None
        if self._usage.notes:
            return None
        envelope = self._envelope() | {"choices": None}
        own = (self._done, self._cut, envelope)
        return frozen([own, self._finish.state, self._usage.state])

    # -- a stream that does not come to its end ----------------------------------

    def bail(self, n: int, failed: Step | None) -> None:
        """Send all that waits before block *n*: the repair of this stream is over.

        Args:
            n: The block.
            failed: The step whose block is about to pass as it came, if any.
        """
        self._opening.waiting = self._finish.waiting = self._usage.waiting = None
        self._outlet.rescue(failed)
        if failed is None or self._usage.fix not in failed.fixes:
            self._usage.flush(n - 1, self._envelope())

    def abandon(self) -> bool:
        """Close what waits in a stream that broke off; tell whether that is a loss."""
        opening = self._opening.waiting
        waiting = list(self._take_waiting())
        for piece in waiting:
            self._outlet.drop(piece)
        return any(piece is not opening for piece in waiting) or bool(self._usage.kept)

    def join(self, step: Step, data: bytes) -> None:
        """Add a line end's last byte to what waits of *step*."""
        for piece in (self._opening.waiting, self._finish.waiting, self._usage.waiting):
            if piece is None or piece.step is not step or piece.raw is None:
                continue
            if piece.raw.endswith(b"\r"):
                piece.raw += data

    def _take_waiting(self) -> Iterator[Piece]:
        waiting = (self._opening.waiting, self._finish.waiting, self._usage.waiting)
        self._opening.waiting = self._finish.waiting = self._usage.waiting = None
        return (piece for piece in waiting if piece is not None)

    # -- finish reasons --------------------------------------------------------

    def _repeats(self, piece: Piece) -> bool:
        """Drop a finish that its choices had already, but for the usage it brings."""
        if not is_bare_finish(piece.chunk) or "finish-repeated" not in self._on:
            return False
        name = "finish-repeated"
        piece.fixed(name)
        self._finish.overrule(piece.chunk, name)
        late = self._finish.take_rest(piece, name)
        self._usage.keep_notes(piece.chunk, name)
        if late is not None:
            self._usage.add_notes(late)
            self._outlet.send(late)
        if usage_of(piece.chunk):
            self._usage.take_repeated(piece.chunk, name)
        return True

    def _leave_out(self, piece: Piece, over: set[int]) -> bool:
        """Take out choices that are *over* and say nothing; tell whether any were."""
        found = choices(piece.chunk)
        kept = [each for each in found if index_of(each) not in over or speaks_in(each)]
        if len(kept) == len(found) or AFTER not in self._on:
            return False
        piece.chunk["choices"] = kept
        piece.fixed(AFTER)
        return True

    def _bare_finish(self, piece: Piece) -> None:
        self._finish.release()
        may_wait = "finish-early" in self._on
        if may_wait and self._finish.lacks_arguments(piece):
            self._finish.hold(piece)
        elif not self._finish.all_finished:
            self._finish.send(piece)
        elif may_wait and self._finish.is_doubtful(piece):
            self._finish.hold(piece)
        elif self._asked.usage or self._usage.sent:
            self._finish.send(piece)
        elif counts(self._usage.kept):
            piece.fixed(self._usage.fix)
            self._usage.ride(piece.chunk)
            self._finish.send(piece)
        elif self._on & {"usage-unasked", "finish-repeated", "finish-early"}:
            self._finish.hold(piece)
        else:
            self._finish.send(piece)

    def _add_finish(self, indexes: list[int], n: int) -> None:
        """Add the finish reasons that the provider left out before its `[DONE]`."""
        for index in indexes:
            chunk = self._envelope()
            reason = self._finish.reason(index)
            chunk["choices"] = [{"index": index, "delta": {}, "finish_reason": reason}]
            self._finish.finished.add(index)
            for call in self._finish.left_open(chunk):
                self._outlet.add(n, call, NO_ARGUMENTS)
            self._close(n, {index})
            last = self._finish.all_finished and not self._asked.usage
            if self._usage.kept and last:
                self._usage.ride(chunk)
            self._usage.ride_notes(chunk)
            self._outlet.add(n, chunk, "finish-missing")

    # -- what is added ---------------------------------------------------------

    def _settle(self, *, last: bool = True) -> None:
        """Send what waits; usage rides on its finish if that is the *last* one."""
        self._opening.settle(None)
        if last:
            self._usage.ride_on_finish()
        self._finish.release()

    def _close(self, n: int, indexes: set[int] | None = None) -> None:
        """Send what the fixes hold of choices that end, all if None, after event *n*."""
        step = Step(n, None)
        self._finish.close(step, indexes)
        if step.fixes:
            self._outlet.close(step)

    def _envelope(self) -> Chunk:
        """Return the envelope of the last chunk, for one that is added."""
        last = self._last.chunk if self._last else {}
        return envelope_of(last)
