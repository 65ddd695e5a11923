"""What mitmproxy calls with each read of a streamed response. It must never raise.

mitmproxy loses the read's bytes if the callable raises, and ends an HTTP/1.1 answer if
it returns `b""`, alone or in a list (mitmproxy/proxy/layers/http/_http1.py, #8242): so
everything is caught, and nothing to send is `[]`. `b""` comes in at the end, but also
for an empty HTTP/2 frame in mid-stream: repair goes on after it.
"""

import logging
from collections.abc import Callable
from typing import Any

from ...records.snapshot import Snapshot
from ...repair.engine.event_stream import SHARED_BUDGET, STREAM_BUDGET, EventStream
from ...wire.content_encoding import MAX_INFLATED_PER_TURN, CorruptBodyError, Decoder
from ...wire.event_boundary import EVENT

logger = logging.getLogger(__name__)

_MUCH = STREAM_BUDGET // 2
_LITTLE = STREAM_BUDGET - 8 * EVENT
"""What is left of the budget after so few events that nobody has to wait for their turn."""
_END = "the end of the message"
"""What waits once the last event has been sent."""


def _nobody() -> None:
    """A callback that does nothing."""


def handed_over(stream: object) -> Any:
    """The rewriter whose `read` is *stream*, if it was handed over at a reload."""
    found = getattr(stream, "__self__", None)
    return found if getattr(found, "is_handed_over", False) else None


class Turn:
    """What streams may have looked at until all of them have had their turn.

    Args:
        soon: Calls what it is given in the next turn of the event loop: mitmproxy may
            hand over several reads in one.
        most: What is looked at beyond what each stream has of its own.
    """

    def __init__(
        self,
        soon: Callable[[Callable[[], None]], object] = lambda act: act(),
        most: float = SHARED_BUDGET,
    ) -> None:
        self.number = 0
        self.budget_left = self._most = most
        """The shared budget left in this turn."""
        self._soon = soon
        self._has_begun = False
        self._at_end: list[Callable[[], None]] = []

    def begin(self) -> int:
        """Return the number of the turn, which begins now if none is under way."""
        if not self._has_begun:
            self._has_begun = True
            # mitmproxy needs two of the loop's turns to pass an event on.
            self._soon(self._halve)
        return self.number

    def _halve(self) -> None:
        self._soon(self._end)

    def _end(self) -> None:
        self.number += 1
        self.budget_left = self._most
        self._has_begun = False
        acts, self._at_end = self._at_end, []
        for act in acts:
            act()

    def at_end(self, act: Callable[[], None]) -> None:
        """Have *act*, which must not raise, called when this turn is over."""
        self._at_end.append(act)
        self.begin()


class Rewriter:
    """One streamed response: wire bytes in, wire bytes out.

    Args:
        pipeline: Repairs the stream.
        decoder: Undoes the content encoding.
        repair: False only watches: the bytes pass as received, still encoded.
        give_up: Called when a compressed body turns out corrupt after its header was
            dropped; breaks the answer off so that the client notices.
        snapshot: Stores what was received and sent.
        turn: Bounds what is looked at, shared with other streams.
    """

    def __init__(
        self,
        pipeline: EventStream,
        decoder: Decoder,
        *,
        repair: bool = True,
        give_up: Callable[[], None] = _nobody,
        snapshot: Snapshot | None = None,
        turn: Turn | None = None,
    ) -> None:
        # With 30 attributes CPython would no longer keep them in the object, but in a
        # dictionary of 1.5 KB.
        self.bytes_in = self.bytes_out = 0
        """How many bytes were received, and sent."""
        self.pipeline = pipeline
        """What repairs the stream."""
        self.is_handed_over = False
        """Whether an addon that was loaded later ends it."""
        self._is_plain = type(decoder) is Decoder  # nothing to be undone
        self._repair = repair
        self.snapshot = snapshot or Snapshot()
        self.on_end: Callable[[], None] = _nobody
        """Called when the stream has ended."""
        self.on_growth: Callable[[], None] = _nobody
        """Called when the first bytes have been stored, and now and then when more have."""
        self.on_break: Callable[[object], None] | None = None
        """Called with the flow when it has broken off, by an addon that was loaded later."""
        self.on_wait: Callable[[], None] = _nobody
        """Called when something waits, or something else than before."""
        self.on_much: Callable[[], None] = _nobody
        """Called when so much was received in this turn that more of it had better wait."""
        self.beyond: Callable[[], float] | None = None
        """What is looked at beyond the turn, of a stream that cannot pass as it is."""
        self._decoder = decoder
        self._give_up = give_up
        self.turn = turn or Turn()
        self._number = -1  # of the turn of the last read
        self._waiting: object = None
        # What is still looked at, of this stream alone.
        self._own: float = STREAM_BUDGET
        self._size = 0  # bytes that this turn's reads have inflated to
        self._corrupt = False
        self._raw = False  # the pipeline failed: what is decoded passes as it is

    def read(self, data: bytes) -> list[bytes]:
        """The bytes to send for one read; `b""` is the stream's end."""
        self.bytes_in += len(data)
        out = None
        try:
            if self._is_plain and not self._raw:
                out = self.pipeline.known(data)
        except Exception:
            logger.exception("%s: repair failed, the rest passes", self.pipeline.label)
            out = self._give_in(data)
        if out is None:
            out = self._bounded(data)
        if not self._repair:
            out = data
        self.bytes_out += len(out)
        if self.snapshot.is_on:
            self._store(data, out)
        if not data:
            self._try("its record is not closed", self.on_end)
        return [out] if out else []

    @property
    def given_up(self) -> bool:
        """Whether the answer was broken off because it was corrupt."""
        return self._corrupt and self._repair

    def figures(self) -> tuple[int, int, int]:
        """Return how many events and bytes were received so far, and how many bytes sent."""
        return self.pipeline.events, self.bytes_in, self.bytes_out

    def _store(self, received: bytes, sent: bytes) -> None:
        """Store one read, and what was sent for it."""
        snapshot = self.snapshot
        try:
            if snapshot.both and self._is_plain:
                snapshot.add_received(received)
            if snapshot.add_sent(sent):
                self.on_growth()
        except Exception:  # an observer cannot cost bytes
            logger.exception("%s: it is not shown", self.pipeline.label)

    @property
    def is_between(self) -> bool:
        """Whether what has been sent so far ends with a block."""
        return not (self._raw or self._corrupt) and self.pipeline.is_between

    @property
    def waits(self) -> bool:
        """Whether something that was received waits for a moment."""
        return self._waiting is not None

    @property
    def holds(self) -> bool:
        """Whether anything that was received has not been sent."""
        return self.waits or self.pipeline.holds

    @property
    def is_done(self) -> bool:
        """Whether the client has the last event of its protocol: `[DONE]`, in chat."""
        return self.pipeline.is_done

    @property
    def events(self) -> int:
        """How many events were received, not counting comments."""
        return self.pipeline.events - self.pipeline.comments

    def conclude(self, *, broke: bool) -> tuple[bytes, bool]:
        """The bytes to send after long silence, and whether they end the stream.

        They do if the stream is complete by its own word. What is read then is its end.
        Never raises.

        Args:
            broke: Whether nothing follows, not even an end, since the stream breaks off.
        """
        if self._raw or self._corrupt or not self._repair:
            return self.release(last=broke), False
        pipeline = self.pipeline
        out = pipeline.release(silent=not broke, last=broke)
        ends = pipeline.conclude()
        if ends and broke:
            out += pipeline.end()
        self._waiting = None
        return self._sent(b"".join(out)), ends

    def release(self, *, last: bool = False) -> bytes:
        """The bytes that have waited for 100 ms. Never raises.

        Args:
            last: Whether nothing follows, since the stream breaks off.
        """
        if self._raw or self._corrupt:
            return b""
        out = b"".join(self.pipeline.release(last=last))
        self._waiting = None
        return self._sent(out) if self._repair else b""

    def newline(self) -> bytes:
        """A newline that keeps the client's connection alive, if that is due."""
        if not (self._repair and self.is_between):
            return b""
        return self._sent(self.pipeline.keep_alive())

    def _sent(self, out: bytes) -> bytes:
        self.bytes_out += len(out)
        try:
            self.snapshot.add_sent(out)
        except Exception:  # as above: an observer cannot cost bytes
            logger.exception("%s: it is not shown", self.pipeline.label)
        return out

    def hand_over(self) -> None:
        """Let `handed_over` find this."""
        self.is_handed_over = True

    def detach(self) -> None:
        """Drop all callbacks."""
        self.on_end = self.on_growth = self.on_wait = self.on_much = _nobody
        self._give_up, self.on_break = _nobody, None

    def slow_down(self) -> None:
        """Have more of the answer wait, if that is possible."""
        self._try("its provider is not slowed down", self.on_much)

    def _bounded(self, data: bytes) -> bytes:
        """The repaired *data*, within this turn's budget of time."""
        turn, pipeline = self.turn, self.pipeline
        if self._own < _LITTLE or not self._is_plain:
            number = turn.begin()
            if number != self._number:
                self._own = STREAM_BUDGET
                self._number, self._size = number, 0
        budget_left = self._own + max(turn.budget_left, -1)
        if self.beyond is not None:
            budget_left += self.beyond()
        pipeline.parser.budget_left = budget_left
        out = self._rewrite(data) if self._is_plain else self._decoded(data)
        before = self._waiting
        try:
            is_done = self._repair and pipeline.is_done
            self._waiting = _END if is_done else pipeline.waiting
            if self._waiting is not None and self._waiting != before:
                self.on_wait()
        except Exception:
            logger.exception("%s: the held data has no time limit", pipeline.label)
        self._own -= budget_left - pipeline.parser.budget_left
        if self._own < _LITTLE:
            self._number = turn.begin()
        if self._own < _MUCH:
            self.slow_down()
        if self._own < 0:
            turn.budget_left += self._own
            self._own = 0
        return out

    def _decoded(self, data: bytes) -> bytes:
        if self._corrupt:
            return b""
        if not data:
            return self._rewrite(b"")
        out: list[bytes] = []
        try:
            for part in self._decoder.feed(data):
                self._size += len(part)
                if self._size > MAX_INFLATED_PER_TURN:
                    why = f"it inflates to more than {MAX_INFLATED_PER_TURN >> 20} MiB at once"
                    out.append(self._break_off(why))
                    break
                self.snapshot.add_received(part)
                # One by one: what precedes a corrupt byte must be sent.
                out.append(self._rewrite(part))
        except CorruptBodyError as error:
            out.append(self._break_off(f"the compressed body is corrupt ({error})"))
        except Exception:
            logger.exception("%s: the body cannot be decoded", self.pipeline.label)
            out.append(self._break_off("the body cannot be decoded"))
        return b"".join(out)

    def _rewrite(self, data: bytes) -> bytes:
        """The repaired form of decoded *data*; `b""` is the stream's end."""
        if self._raw:
            return self.pipeline.output.passed(data)
        try:
            out = self.pipeline.feed(data) if data else self.pipeline.end()
        except Exception:
            logger.exception("%s: repair failed, the rest passes", self.pipeline.label)
            return self._give_in(data)
        return out[0] if len(out) == 1 else b"".join(out)

    def _give_in(self, data: bytes) -> bytes:
        """Return all that is held back, and *data*: the repair of this stream is over."""
        self._raw = True
        try:
            return self.pipeline.rescue() + self.pipeline.output.passed(data)
        except Exception:
            logger.exception("%s: the waiting data is lost", self.pipeline.label)
            return data

    def _break_off(self, reason: str) -> bytes:
        """End the answer so that the client notices, as its own decoder would have.

        Returns:
            What waited, to be sent before that.
        """
        rest = b"" if self._raw else b"".join(self.pipeline.release(last=True))
        self._corrupt = True
        if not self._repair:
            logger.warning("%s: %s", self.pipeline.label, reason)
            return rest
        logger.warning("%s: %s; the answer is broken off", self.pipeline.label, reason)
        self._try("it cannot be broken off", self._give_up)
        return rest

    def _try(self, failure: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception:
            logger.exception("%s: %s", self.pipeline.label, failure)
