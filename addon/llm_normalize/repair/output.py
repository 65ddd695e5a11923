r"""What is sent: bytes in order, newlines between blocks, and steps that are complete.

A step is observed once all of it has been sent. That may be late: a part of it may wait,
and a `\n` may still follow that belongs to its last line end.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..wire.sse import Gap
from .outcome import Step

logger = logging.getLogger(__name__)


class Output:
    """The bytes of one stream on their way out.

    Args:
        observe: Called with each `Step` once all of it has been sent.
        label: Names the stream in log lines.
        verbatim: Whether newlines behind the blocks are sent as received anyway.
    """

    def __init__(
        self, observe: Callable[[Step], None], label: str, *, verbatim: bool
    ) -> None:
        self.step: Step | None = None
        """The step being made."""
        self.last: Step | None = None
        r"""A step that ended in `\r`: a `\n` may still join it."""
        self.verbatim = verbatim
        """Whether the block before was sent as received, and newlines after it shall be."""
        self._observe = observe
        self._label = label
        self._out: list[bytes] = []
        self._begun = 0  # what had been emitted when the step was begun

    def drain(self) -> list[bytes]:
        """Return what has been emitted since the last call."""
        out, self._out = self._out, []
        return out

    def pass_on(self, data: bytes) -> None:
        """Send *data*, which belongs to no step."""
        self._out.append(data)

    def emit(self, step: Step, data: bytes) -> None:
        """Send *data*, which belongs to *step*."""
        step.after.append(data)
        self._out.append(data)

    @contextmanager
    def nothing(self) -> Iterator[None]:
        """Send nothing of what is emitted meanwhile."""
        out, self._out = self._out, []
        try:
            yield
        finally:
            self._out = out

    def begin(self, step: Step) -> None:
        """Take up a step; what `emit` sends until `end` may not be all of it."""
        self.step = step
        self._begun = len(self._out)

    def undo(self, step: Step) -> None:
        """Take back what has been emitted of *step*, which is being made."""
        for data in step.after:
            del self._out[self._out.index(data, self._begun)]
        step.after.clear()

    def end(self, step: Step) -> None:
        """Let the step go, as far as nothing of it waits."""
        self.step = None
        self.verbatim = not step.fixes and not step.waiting  # it may be changed yet
        if step.before is not None and step.before.endswith(b"\r"):
            self.last = step
        self.close(step)

    def close(self, step: Step) -> None:
        """Have *step* observed, unless something of it is still to come."""
        if step.waiting or step is self.step or step is self.last:
            return
        try:
            self._observe(step)
        except Exception:  # an observer cannot change bytes, nor cost any
            logger.exception("%s: event %d is not recorded", self._label, step.n)

    def settle(self) -> None:
        """Close the last step: no line end can join it any more."""
        if self.last is not None:
            step, self.last = self.last, None
            self.close(step)

    def gap(self, gap: Gap, join: Callable[[Step, bytes], None]) -> None:
        """Pass newlines between blocks on, spelled as the block before was sent.

        Args:
            gap: The newlines.
            join: Called with the last step and what joins it, if that still waits.
        """
        last = self.last
        if gap.joins and last is not None and last.before is not None:
            last.before += gap.raw
            if last.after and last.after[-1].endswith(b"\r"):
                last.after[-1] += gap.raw
                self._out.append(gap.raw)
            else:
                join(last, gap.raw)
        elif self.verbatim:
            self._out.append(gap.raw)
        elif not gap.joins:
            self._out.append(gap.raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        if not gap.joins:
            self.settle()
