"""Where usage goes: once, at the end, and where the request expects it.

Asked for, it has a last chunk with `choices: []`, after every finish reason. Not asked
for, it rides on the last finish reason, so that no chunk without choices crashes a
client that did not ask for one. Part of the ending (repair/ending/stream_end.py).
"""

from ...chat.chunk import (
    ENVELOPE,
    Chunk,
    drop_other_usage,
    errors_in,
    is_error,
    speaks,
    usage_of,
)
from ...chat.conversion import counts
from ...chat.stream_state import Asked
from ...wire.json_text import Json
from ..outcome import Outlet, Piece
from .finish_reasons import Finish

CHOICES = "choices-empty"
_FRAME = ENVELOPE | {"choices", "usage", "obfuscation"}


class Usage:
    """The usage of one stream: what came, what waits, and whether it has been sent.

    Args:
        asked: What the request asked.
        on: Names of the fixes that are to be applied.
        finish: The finish reasons, on which usage may ride.
        outlet: Where pieces leave and wait.
    """

    def __init__(
        self, asked: Asked, on: set[str], finish: Finish, outlet: Outlet
    ) -> None:
        self.sent = False
        self.kept: Json = None
        """The last figures taken off a chunk, not sent yet."""
        self.fix = ""
        """The name of the fix that took them off."""
        self.waiting: Piece | None = None
        """A usage chunk that came before every choice had finished."""
        self.notes: Chunk = {}
        """What dropped chunks said beside choices and usage, not sent yet."""
        self._asked = asked
        self._on = on
        self._finish = finish
        self._outlet = outlet

    @property
    def state(self) -> list[object]:
        """What decides on the next chunk, while nothing waits.

        The figures themselves do not: later ones replace them.
        """
        return [self.sent, bool(self.kept), self.fix]

    def keep(self, chunk: Chunk, fix: str) -> None:
        """Keep the usage of *chunk*, which *fix* takes off it; zeros replace nothing."""
        usage = usage_of(chunk)
        waiting = self._finish.waiting
        if waiting is not None and usage_of(waiting.chunk):
            if counts(usage):
                waiting.fixed(fix)
                waiting.chunk["usage"] = usage
                self.pass_by()
        elif not self.sent and (counts(usage) or not self.kept):
            self.kept = usage
            self.fix = fix

    def ride(self, chunk: Chunk) -> None:
        """Put what is kept on *chunk*."""
        chunk["usage"] = self.kept
        self.kept = None
        self.sent = True

    def pass_by(self) -> None:
        """Note that a chunk with usage is sent as it is."""
        self.kept = None
        self.sent = True

    def take_back(self, piece: Piece) -> None:
        """Take the figures off a finish that waits, if it is not the last any more."""
        over = self._finish.all_finished or "usage-every-chunk" not in self._on
        if usage_of(piece.chunk) and not over:
            self.fix = "usage-every-chunk"
            self.kept, self.sent = piece.chunk.pop("usage"), False
            drop_other_usage(piece.chunk)
            piece.fixed(self.fix)

    def take_off(self, piece: Piece, *, finishes: bool, last: bool) -> bool:
        """Take usage off a chunk with choices where OpenAI would not have put it.

        Args:
            piece: The chunk.
            finishes: Whether it brings a finish reason.
            last: Whether no choice is left open after it.

        Returns:
            Whether anything was taken off.
        """
        chunk = piece.chunk
        if not usage_of(chunk):
            return False
        if last and finishes and not self._asked.usage:
            repeated = self.sent and "usage-repeated" in self._on
            if repeated:
                del chunk["usage"]
                drop_other_usage(chunk)
                piece.fixed("usage-repeated")
            elif counts(usage_of(chunk)):  # zeros may come before the figures
                self.pass_by()
            return repeated
        at_end = finishes and self._asked.usage
        name = "usage-with-choices" if at_end else "usage-every-chunk"
        if name not in self._on:
            return False
        self.keep(chunk, name)
        if self._asked.usage:
            chunk["usage"] = None  # as in OpenAI's own chunks before the last
        else:
            del chunk["usage"]
        drop_other_usage(chunk)
        if errors_in(chunk):  # words beside figures are none, and alone would be
            self.keep_notes(chunk, name)
            for key in chunk.keys() - _FRAME:
                del chunk[key]
        piece.fixed(name)
        return True

    def take(self, piece: Piece) -> None:
        """Take a chunk without choices: usage, or nothing."""
        if not usage_of(piece.chunk):
            if (
                piece.raw is None and "moderation" not in piece.chunk
            ):  # a fix dropped it
                self.keep_notes(piece.chunk, CHOICES)
            else:
                self._outlet.send(piece)
        elif self._asked.usage:
            finish = self._finish.waiting
            open_call = finish and self._finish.lacks_arguments(finish)
            over = self._finish.all_finished and not self._finish.doubted
            self._take_asked(piece, over=over and not open_call)
        else:
            self._take_unasked(piece)

    def take_last(self, piece: Piece) -> None:
        """Take a chunk whose choices are gone: its usage may not be the last."""
        if not usage_of(piece.chunk):
            self._take_notes(piece.chunk, CHOICES)
        elif self._asked.usage:
            self._take_asked(piece, over=False)
        else:
            self._take_unasked(piece)

    def _take_asked(self, piece: Piece, *, over: bool) -> None:
        if self.sent and "usage-repeated" in self._on:
            piece.fixed("usage-repeated")
            self.keep_notes(piece.chunk, "usage-repeated")
            return
        if self.waiting is not None:  # a later figure has come
            self.waiting.fixed("usage-early")
            self._outlet.drop(self.waiting)
            self.waiting = None
        if over or "usage-early" not in self._on:
            self._finish.release()
            self._finish.close(piece.step, None)
            self.pass_by()
            self._outlet.send(piece)
        else:
            self.waiting = self._outlet.hold(piece)

    def _take_unasked(self, piece: Piece) -> None:
        name = "usage-unasked"
        if name not in self._on:
            self._finish.release()
            self._outlet.send(piece)
            return
        piece.fixed(name)
        self.keep(piece.chunk, name)
        self._take_notes(piece.chunk, name)

    def keep_notes(self, chunk: Chunk, fix: str) -> None:
        """Let what *chunk*, dropped by *fix*, says beside choices and usage ride along.

        On the finish that waits, else on the next chunk, or on one of its own.
        """
        drop_other_usage(rest := dict(chunk))
        notes = {
            key: value
            for key, value in rest.items()
            if key not in _FRAME and value not in (None, "", [], {})
        }
        waiting = self._finish.waiting
        if notes and waiting is not None:
            waiting.fixed(fix)
            self._put(notes, waiting.chunk)
        elif notes:
            self.notes |= notes

    def add_notes(self, piece: Piece) -> None:
        """Put the notes that are kept on a chunk that comes in."""
        if self.notes and not errors_in({**self.notes, **piece.chunk}):
            piece.fixed(CHOICES)
            self.ride_notes(piece.chunk)

    def ride_notes(self, chunk: Chunk) -> None:
        """Put the notes that are kept on *chunk*."""
        notes, self.notes = self.notes, {}
        self._put(notes, chunk)

    def _put(self, notes: Chunk, chunk: Chunk) -> None:
        for key, value in notes.items():
            chunk.setdefault(key, value)
        if self._asked.usage and speaks(notes):
            chunk.setdefault("usage", None)  # as where the figures are taken off it

    def _take_notes(self, chunk: Chunk, fix: str) -> None:
        self.keep_notes(chunk, fix)
        # Where nothing is counted, the figures may be still to come.
        over = self._finish.all_finished and not self._finish.doubted
        if over and counts(self.kept):
            self.ride_on_finish()

    def take_repeated(self, chunk: Chunk, fix: str) -> None:
        """Take the usage off a finish that *fix* drops."""
        self.keep(chunk, fix)
        over = self._finish.all_finished and not self._finish.doubted
        # Where there was one on every chunk, and where nothing is counted, more may come.
        if over and counts(usage_of(chunk)) and not self._asked.usage:
            self.ride_on_finish()
            self._release()

    def ride_on_finish(self) -> None:
        """Let the usage that is kept ride on the finish reason that waits for it."""
        piece = self._finish.waiting
        if piece is None or not self._finish.all_finished or self._asked.usage:
            return
        if self.kept:
            piece.fixed(self.fix)
            self.ride(piece.chunk)
            self._release()

    def _release(self) -> None:
        """Send the finish that waits, unless its call has no arguments yet."""
        piece = self._finish.waiting
        if piece is not None and not self._finish.lacks_arguments(piece):
            self._finish.release()

    def give_choice(self, piece: Piece) -> None:
        """Give unasked usage after an error a choice that goes on, if there is one."""
        if "usage-unasked" in self._on and self._finish.opened - self._finish.finished:
            piece.chunk["choices"] = self._bare_choices()
            piece.fixed("usage-unasked")

    def _bare_choices(self) -> list[Chunk]:
        # Nobody asked: a chunk without choices would crash short loops.
        opened = self._finish.opened
        if not opened:
            return []
        index = min(opened - self._finish.finished or opened)
        return [{"index": index, "delta": {}, "finish_reason": None}]

    def flush_notes(self, n: int, envelope: Chunk) -> None:
        """Send notes that found no place before event *n* with a choice that goes on.

        A second repair would not let them wait either: what waits follows them.
        """
        if self.notes and self._finish.opened - self._finish.finished:
            chunk = {**envelope, "choices": self._bare_choices()}
            if self.kept and errors_in({**self.notes, **chunk}):
                return  # they leave with the figures, beside which they are no error
            self._send_notes(n, chunk)

    def flush(self, n: int, envelope: Chunk) -> None:
        """Send usage that found no place before event *n* was over, with *envelope*."""
        if self.waiting is not None:
            piece, self.waiting = self.waiting, None
            self.add_notes(piece)
            self.pass_by()
            self._outlet.release(piece)
        open_ones = self._finish.opened - self._finish.finished
        if self.kept and not open_ones:
            self._add_kept(n, envelope)
        self.flush_notes(n, envelope)
        if self.notes and self._asked.usage and not self.sent:
            self._send_notes(n, {**envelope, "choices": []})
        if self.kept:  # apart from notes: it does not stay on a chunk that goes on
            self._add_kept(n, envelope)

    def _send_notes(self, n: int, chunk: Chunk) -> None:
        """Send the notes on *chunk*, but no words that would be an error there."""
        self.notes = {
            key: value
            for key, value in self.notes.items()
            if not is_error({**chunk, key: value})
            and not errors_in({**chunk, key: value})
        }
        if self.notes:
            self.ride_notes(chunk)
            self._outlet.add(n, chunk, CHOICES)

    def _add_kept(self, n: int, envelope: Chunk) -> None:
        choices = [] if self._asked.usage else self._bare_choices()
        chunk = {**envelope, "choices": choices}
        self.ride_notes(chunk)
        self.ride(chunk)
        self._outlet.add(n, chunk, self.fix)
