"""How a stream ends: the only place that holds an event back, adds one, or closes.

What waits, and why nothing else may:

* An opening that is only a role and `content: null`, if the request has tools: OpenAI
  opens tool calls so, and only the next event tells them from a text.
* A finish reason, if the request did not ask for usage and none has come yet: usage
  that nobody asked for must ride on it, since a chunk without choices crashes clients
  that did not ask for one. What else its choice still says overtakes it.
* Usage that was asked for and came before every choice had finished.

Success is never made up: a finish reason is added only before a `[DONE]` that the
provider sent, a `[DONE]` only after a finish and a clean end, neither after an error.
"""

from collections.abc import Callable

from .chunk import Chunk, Json, choices, deltas, index_of
from .step import Piece, Step
from .stream_state import Asked, Seen

_ENVELOPE = (
    "id",
    "object",
    "created",
    "model",
    "service_tier",
    "system_fingerprint",
)


def _usage(chunk: Chunk) -> Json:
    return chunk.get("usage") or None


def _finished(chunk: Chunk) -> list[int]:
    """Return the indexes of the choices that *chunk* finishes."""
    return [
        index_of(choice)
        for choice in choices(chunk)
        if isinstance(choice.get("finish_reason"), str)
    ]


def _is_bare_finish(chunk: Chunk) -> bool:
    """Tell whether *chunk* brings nothing but finish reasons."""
    return len(_finished(chunk)) == len(chunk["choices"]) and not any(
        choice.get("delta") for choice in choices(chunk)
    )


class Ending:
    """The end of one stream, and what waits for it.

    Args:
        asked: What the request asked.
        seen: What the stream has said, kept by the pipeline.
        on: Names of the fixes that are to be applied.
        emit: Sends the bytes of a step.
        close: Told when nothing of a step waits any more.
    """

    def __init__(
        self,
        asked: Asked,
        seen: Seen,
        on: set[str],
        emit: Callable[[Step, bytes], None],
        close: Callable[[Step], None],
    ) -> None:
        self._asked = asked
        self._seen = seen
        self._on = on
        self._emit = emit
        self._close = close
        self._opening: Piece | None = None
        self._finish: Piece | None = None
        self._usage_chunk: Piece | None = None
        self._usage: Json = None  # the last usage taken off a chunk, not yet sent
        self._usage_fix = ""  # the fix that took it off
        self._usage_sent = False
        self._opened: set[int] = set()
        self._finished: set[int] = set()
        self._done = False
        self._last: Piece | None = None
        self._last_n = -1

    # -- what comes in ---------------------------------------------------------

    def chunk(self, piece: Piece) -> None:
        """Take a repaired chunk: send it, hold it, or let it ride on another."""
        chunk = piece.chunk
        self._settle_opening(chunk)
        self._last = piece
        self._last_n = piece.step.n
        if not chunk["choices"]:
            self._chunk_without_choices(piece)
            return
        indexes = {index_of(choice) for choice in choices(chunk)}
        if self._must_wait_for_next(piece, indexes):
            self._opening = self._hold(piece)
            self._opened |= indexes
            return
        self._opened |= indexes
        finished = set(_finished(chunk))
        if finished and finished <= self._finished and self._repeats(piece):
            return
        self._finished |= finished
        self._take_usage(piece, bool(finished))
        if finished and _is_bare_finish(chunk):
            self._bare_finish(piece)
            return
        if self._finish and not indexes & set(_finished(self._finish.chunk)):
            self._release_finish()
        self._send(piece)

    def done(self, piece: Piece) -> None:
        """Take the provider's `[DONE]`."""
        if self._done and "done-repeated" in self._on:
            piece.fixed("done-repeated")
            return
        self._settle()
        if not self._seen.error:
            self._add_finish()
            self._flush_usage()
        self._done = True
        self._emit(piece.step, piece.raw or b"")

    def error(self, piece: Piece) -> None:
        """Take an error event: nothing may be added to the stream after it."""
        self._settle()
        self._flush_usage()
        self._seen.error = True
        self._send(piece)

    def other(self) -> None:
        """Take note of an event that is not understood: what opened comes first."""
        self._settle_opening(None)

    def end(self, count: int) -> None:
        """Take the clean end of a stream of *count* events."""
        self._settle()
        if self._done or self._seen.error:
            return
        self._last_n = count
        self._flush_usage()
        if self._all_finished() and "done-missing" in self._on:
            self._add(b"data: [DONE]\n\n", "done-missing")

    def bail(self) -> None:
        """Send all that waits as it came: the repair of this stream is over."""
        held = (self._opening, self._finish, self._usage_chunk)
        self._opening = self._finish = self._usage_chunk = None
        for piece in held:
            if piece is not None:
                self._release(piece)

    def abandon(self) -> bool:
        """Close what waits in a stream that broke off; tell whether that is a loss."""
        held = (self._opening, self._finish, self._usage_chunk)
        self._opening = self._finish = self._usage_chunk = None
        for piece in held:
            if piece is not None:
                piece.step.waiting -= 1
                self._close(piece.step)
        return any(held[1:])

    def join(self, step: Step, data: bytes) -> None:
        """Add a line end's last byte to what waits of *step*."""
        for piece in (self._opening, self._finish, self._usage_chunk):
            if piece is not None and piece.step is step and piece.raw is not None:
                piece.raw += data

    # -- openings --------------------------------------------------------------

    def _must_wait_for_next(self, piece: Piece, indexes: set[int]) -> bool:
        """Tell whether *piece* is an opening that may turn out a tool call's."""
        if not self._asked.tools or "content-null" not in self._on:
            return False
        found = list(deltas(piece.chunk))
        if len(found) != 1 or indexes & self._opened or _usage(piece.chunk):
            return False
        _, choice, delta = found[0]
        return (
            "content" in delta
            and choice.get("finish_reason") is None
            and not any(value for key, value in delta.items() if key != "role")
            and delta["content"] is None
        )

    def _settle_opening(self, following: Chunk | None) -> None:
        """Send the opening that waits, as the *following* chunk shows it to be."""
        piece = self._opening
        if piece is None:
            return
        self._opening = None
        index = index_of(next(choices(piece.chunk)))
        for at, _, delta in deltas(following or {"choices": []}):
            if at == index and any(
                delta.get(key)
                for key in ("tool_calls", "function_call", "refusal", "audio")
            ):
                self._release(piece)
                return
        for _, _, delta in deltas(piece.chunk):
            delta["content"] = ""
        piece.fixed("content-null")
        self._release(piece)

    # -- finish reasons --------------------------------------------------------

    def _repeats(self, piece: Piece) -> bool:
        """Drop a finish that its choices had already, keeping the usage it brings."""
        if not _is_bare_finish(piece.chunk) or "finish-repeated" not in self._on:
            return False
        piece.fixed("finish-repeated")
        if _usage(piece.chunk) and not self._usage_sent:
            self._keep_usage(piece.chunk, "finish-repeated")
            if self._finish and not self._asked.usage:
                self._ride(self._finish.chunk)
                self._finish.fixed("finish-repeated")
                self._release_finish()
        return True

    def _bare_finish(self, piece: Piece) -> None:
        self._release_finish()
        if self._asked.usage or _usage(piece.chunk) or self._usage_sent:
            self._send(piece)
        elif self._usage and self._all_finished():
            piece.fixed(self._usage_fix)
            self._ride(piece.chunk)
            self._send(piece)
        else:
            self._finish = self._hold(piece)

    def _release_finish(self) -> None:
        if self._finish is not None:
            piece, self._finish = self._finish, None
            self._release(piece)

    def _all_finished(self) -> bool:
        return (
            bool(self._opened)
            and self._opened <= self._finished
            and len(self._finished) >= self._asked.n
        )

    def _add_finish(self) -> None:
        """Add the finish reasons that the provider left out before its `[DONE]`."""
        if "finish-missing" not in self._on or self._last is None:
            return
        for index in sorted(self._opened - self._finished):
            reason = "tool_calls" if self._seen.choice(index).calls else "stop"
            if self._asked.forced_tool:
                reason = "stop"
            chunk = self._envelope()
            chunk["choices"] = [{"index": index, "delta": {}, "finish_reason": reason}]
            self._finished.add(index)
            self._seen.note(chunk)
            if self._usage and not self._asked.usage and self._all_finished():
                self._ride(chunk)
            self._add_chunk(chunk, "finish-missing")

    # -- usage -----------------------------------------------------------------

    def _chunk_without_choices(self, piece: Piece) -> None:
        if not _usage(piece.chunk):
            self._send(piece)
        elif self._asked.usage:
            self._asked_usage(piece)
        else:
            self._unasked_usage(piece)

    def _asked_usage(self, piece: Piece) -> None:
        if self._usage_sent and "usage-repeated" in self._on:
            piece.fixed("usage-repeated")
        elif self._all_finished() or "usage-early" not in self._on:
            self._drop_usage_chunk()
            self._usage = None
            self._usage_sent = True
            self._send(piece)
        else:
            self._drop_usage_chunk()
            self._usage_chunk = self._hold(piece)

    def _drop_usage_chunk(self) -> None:
        """Drop the usage that waits: a later figure has come."""
        if self._usage_chunk is not None:
            piece, self._usage_chunk = self._usage_chunk, None
            piece.fixed("usage-early")
            piece.step.waiting -= 1
            self._close(piece.step)

    def _unasked_usage(self, piece: Piece) -> None:
        name = "usage-unasked"
        if name not in self._on:
            self._send(piece)
            return
        piece.fixed(name)
        if self._usage_sent:
            return
        self._keep_usage(piece.chunk, name)
        if self._finish is not None:
            self._ride(self._finish.chunk)
            self._finish.fixed(name)
            for key, value in piece.chunk.items():
                if key not in ("choices", "usage") and value is not None:
                    self._finish.chunk.setdefault(key, value)
            self._release_finish()

    def _take_usage(self, piece: Piece, finishes: bool) -> None:
        """Take usage off a chunk with choices, where OpenAI would not have put it."""
        chunk = piece.chunk
        if not _usage(chunk):
            return
        if not self._asked.usage and finishes and self._all_finished():
            if self._usage_sent and "usage-repeated" in self._on:
                del chunk["usage"]
                piece.fixed("usage-repeated")
            self._usage = None
            self._usage_sent = True
            return
        asked_at_end = finishes and self._asked.usage
        name = "usage-with-choices" if asked_at_end else "usage-every-chunk"
        if name not in self._on:
            return
        if not self._usage_sent:
            self._keep_usage(chunk, name)
        if self._asked.usage:
            chunk["usage"] = None
        else:
            del chunk["usage"]
        piece.fixed(name)

    def _keep_usage(self, chunk: Chunk, name: str) -> None:
        self._usage = _usage(chunk)
        self._usage_fix = name

    def _ride(self, chunk: Chunk) -> None:
        """Put the usage that is kept on *chunk*, the last one of its stream."""
        chunk["usage"] = self._usage
        self._usage = None
        self._usage_sent = True

    def _flush_usage(self) -> None:
        """Send usage that came and found no place yet."""
        if self._usage_chunk is not None:
            piece, self._usage_chunk = self._usage_chunk, None
            self._release(piece)
            self._usage_sent = True
        elif self._usage and not self._usage_sent:
            chunk = self._envelope()
            chunk["choices"] = []
            if not self._asked.usage:
                # Nobody asked, so a chunk without choices would crash short loops.
                chunk["choices"] = [{"index": 0, "delta": {}, "finish_reason": None}]
            name = self._usage_fix
            self._ride(chunk)
            self._add_chunk(chunk, name)

    # -- sending ---------------------------------------------------------------

    def _settle(self) -> None:
        self._settle_opening(None)
        self._release_finish()

    def _envelope(self) -> Chunk:
        """Return the envelope of the last chunk, for one that is added."""
        last = self._last.chunk if self._last else {}
        return {key: last[key] for key in last if key in _ENVELOPE}

    def _hold(self, piece: Piece) -> Piece:
        piece.step.waiting += 1
        return piece

    def _release(self, piece: Piece) -> None:
        piece.step.waiting -= 1
        self._send(piece)
        self._close(piece.step)

    def _send(self, piece: Piece) -> None:
        self._emit(piece.step, piece.encode())

    def _add_chunk(self, chunk: Chunk, name: str) -> None:
        step = Step(self._last_n, None)
        piece = Piece(step, chunk, None)
        piece.fixed(name)
        self._send(piece)
        self._close(step)

    def _add(self, data: bytes, name: str) -> None:
        step = Step(self._last_n, None, fixes=[name])
        self._emit(step, data)
        self._close(step)
