"""One stream in its trace tree: it follows a trace, takes a side exit, and records.

It follows from its beginning, as long as each event matches a step that two other streams
took. No event is parsed then: the step has the output, and what is held. At a side exit (an
event that matches no step, a timer, a break, an end elsewhere) the slow path processes the
events so far, and their output is discarded. So the stream reaches the state that it would
have reached on the slow path. From there on the result of each event is recorded.
"""

import logging
from collections.abc import Sequence

from ...chat.chunks.chunk import Tokens
from ...wire.event_boundary import DONE
from ...wire.json_text import PLAIN
from ...wire.sse import Event, encode
from ..outcome import EventRecord
from ..output import Output
from .template import Template, as_sent
from .trace import (
    MAX_EVENT_BYTES,
    MAX_STEPS,
    Edge,
    Node,
    OneText,
    RecordForm,
    Step,
    TemplateForm,
    TraceTree,
)
from .trace_step import Result, StreamValues, step_of

logger = logging.getLogger(__name__)

LAST = encode(DONE)
"""The last event of a stream, as OpenAI sends it."""
_AHEAD = 6
"""Places in the tree whose steps are looked at ahead: most streams pass no more."""


class StreamTrace:
    """One stream in its trace tree.

    Args:
        tree: The trace tree; None for a stream that shares nothing.
        known: The templates that hold: those of a step take their place.
        output: Has records observed.
        label: Names the stream in log lines.
    """

    def __init__(
        self,
        tree: TraceTree | None,
        known: list[Template],
        output: Output,
        label: str,
    ) -> None:
        self.follows = tree is not None
        """Whether no event has been read so far."""
        self.waits = 0
        """Since which event, from 1, something waits in a stream that follows; 0: nothing."""
        self._tree = tree
        self._node = tree.root if tree is not None else None
        self._known, self._output, self._label = known, output, label
        # Holds events only once the stream has left the trace.
        self._values_so_far = StreamValues([], {}, [])
        # Each event that was followed, its step, its texts, and new values.
        self._path: list[tuple[bytes, int, Step, Sequence[bytes], Sequence[bytes]]] = []
        # Those that hold, as templates of any stream.
        self._forms: tuple[TemplateForm, ...] = ()
        # Their templates, with the values so far.
        self._made: dict[TemplateForm, Template] = {}
        # What is around the text of events to come.
        self._around: dict[OneText | None, tuple[bytes, bytes | None]] = {}
        self.records_unchanged = True
        """Whether a record is wanted although nothing is changed: of the first one, its time."""
        self._varied: list[bytes] = []  # so far, once it has left

    @property
    def begins_known(self) -> bool:
        """Whether two streams have begun alike here."""
        return self._node is not None and bool(self._node.edges)

    @property
    def records(self) -> bool:
        """Whether what becomes of the next event is recorded."""
        return self._node is not None and not self.follows

    @property
    def has_ended(self) -> bool:
        """Whether nothing is sent at the stream's end, if that is now."""
        return self.follows and self._node is not None and self._node.ends > 1

    @property
    def is_done(self) -> bool:
        """Whether `[DONE]` was the last event of a stream that follows."""
        return bool(self._path) and self._path[-1][0] == LAST

    @property
    def tokens(self) -> Tokens:
        """The figures of a stream that follows."""
        return self._values_so_far.tokens

    # -- following -----------------------------------------------------------------

    def next(self, raw: bytes, n: int, *, may_wait: bool) -> tuple[bytes, Step] | None:
        """Take the step that an event fits, if any, and return what is sent for it.

        Args:
            raw: The event.
            n: Its place in the stream.
            may_wait: Whether whoever asks looks at `waits` then.
        """
        node = self._node
        if node is None or (self.waits and not may_wait) or len(raw) > MAX_EVENT_BYTES:
            return None
        for edge in node.edges:
            found = self._fit(edge, raw) if may_wait or not edge.step.waits else None
            if found is not None:
                break
        else:
            return None
        so_far, step = self._values_so_far, edge.step
        values, texts = found
        read, new = texts, values[len(so_far.values) :]
        if step.is_anew:
            texts = [*map(as_sent, texts)]
        sent = raw if edge.sent is None else edge.sent.fill(values, texts)
        closed = edge.closed if self.records_unchanged else edge.changed
        records = [self._record(each, raw, n, sent, values, texts) for each in closed]
        if new or edge.known != self._forms:
            self._know(edge.known, values, is_new=bool(new))
        if new:
            self._look_ahead(edge.node, values)
        self.waits = (self.waits or n + 1) if step.waits else 0
        if step.tokens is not None:
            prompt, completion = step.tokens
            so_far.tokens = (
                None if prompt is None else int(texts[prompt]),
                None if completion is None else int(texts[completion]),
            )
        self._path.append((raw, n, step, read, new))
        so_far.values = values
        for at, key in edge.keys:
            so_far.last[key] = read[at]
        self._node = edge.node
        for record in records:
            self.records_unchanged = False
            self._output.close(record)
        return sent, step

    def _fit(self, edge: Edge, raw: bytes) -> tuple[list[bytes], list[bytes]] | None:
        """Return the stream's values and the event's texts if *raw* is of a step."""
        so_far = self._values_so_far
        around = self._around.get(edge.one_text)
        if around is not None:
            head, tail = around
            if tail is None:
                return (so_far.values, []) if raw == head else None
            if not (raw.startswith(head) and raw.endswith(tail)):
                return None
            text, last = raw[len(head) : len(raw) - len(tail)], so_far.last
            if text and not text.strip(PLAIN):
                if not last:
                    return so_far.values, [text]
                before = tuple(last.values())
                # Behind an escape, `grows` has to read them; it leaves other choices out.
                if not text.startswith(before) and b"".join(before).find(b"\\") < 0:
                    return so_far.values, [text]
        found = edge.fit(raw, so_far.values)
        if found is None or (edge.keys and so_far.grows(edge.keys, found[1])):
            return None
        return found

    def _look_ahead(self, node: Node, values: Sequence[bytes]) -> None:
        """Note what the next events have to be: it takes less time now than one by one.

        Those beyond `_AHEAD` places are compared as any others.
        """
        self._around, nodes = {}, [node]
        for here in nodes:
            for edge in here.edges:
                if edge.one_text is not None and edge.one_text not in self._around:
                    around = edge.around(values)
                    if around is not None:
                        self._around[edge.one_text] = around
                if len(nodes) < _AHEAD:
                    nodes.append(edge.node)

    def _know(
        self, forms: tuple[TemplateForm, ...], values: list[bytes], *, is_new: bool
    ) -> None:
        """Let the templates of *forms* hold; those that held are the same ones."""
        if is_new:
            self._made.clear()
        self._forms, self._known[:] = forms, []
        for form in forms:
            if form not in self._made:
                self._made[form] = form.template(values)
            self._known.append(self._made[form])

    def _record(
        self,
        form: RecordForm,
        raw: bytes,
        n: int,
        sent: bytes,
        values: list[bytes],
        texts: list[bytes],
    ) -> EventRecord:
        """Return a record that is complete with an event: its bytes, and its place."""
        closed = form.record
        of, before = n + closed.offset, None
        if closed.back is not None:
            before, of, *_ = self._path[-closed.back] if closed.back else (raw, n)
        after = (
            [sent]
            if form.equals_sent
            else [each.fill(values, texts) for each in form.after]
        )
        return EventRecord(of, before, after, list(closed.fixes), moved=closed.moved)

    def leave(self) -> Sequence[Event]:
        """Follow no more; return the events that have to be read now."""
        if not self.follows:
            return ()
        self.follows, self.waits, self._around = False, 0, {}
        so_far = self._values_so_far
        for raw, n, step, texts, values in self._path:
            so_far.events.append(Event(raw, n))
            self._varied += _new(step, values, texts)
        self._path.clear()
        return so_far.events

    def fail(self, error: Exception) -> None:
        """Drop all traces of the tree: a bug occurred, which may cost no more."""
        logger.error("%s: its traces are forgotten", self._label, exc_info=error)
        assert self._tree is not None
        self._tree.forget()
        self._node = None

    # -- recording -----------------------------------------------------------------

    def stop(self) -> None:
        """Record no more: what becomes of the next event depends on more than a trace."""
        self._node = None
        self.follows = False
        self._values_so_far = StreamValues([], {}, [])
        self._path.clear()
        self._varied.clear()

    def record(self, event: Event, result: Result) -> None:
        """Record what became of an event on the slow path, if it `records`. Never raises."""
        node, tree, then = self._node, self._tree, None
        assert node is not None
        assert tree is not None
        if tree.learns and len(self._values_so_far.events) < MAX_STEPS:
            try:
                step, values, texts = step_of(event, result, self._values_so_far)
                new = values[len(self._values_so_far.values) :]
                varied = (*self._varied, *_new(step, new, texts))
                then = tree.go(node, step, varied)
            except ValueError:
                pass
            except Exception as error:  # noqa: BLE001 - it costs the trace only
                self.fail(error)
        if then is None:
            self.stop()
        else:
            self._values_so_far.tokens = result.tokens
            self._go(then, step, event, values, texts)

    def _go(
        self,
        node: Node,
        step: Step,
        event: Event,
        values: list[bytes],
        texts: list[bytes],
    ) -> None:
        """Be at *node*, behind *event*."""
        so_far = self._values_so_far
        self._node = node
        self._varied += _new(step, values[len(so_far.values) :], texts)
        so_far.values = values
        for text, key in zip(texts, step.keys, strict=True):
            if key is not None:
                so_far.last[key] = text
        so_far.events.append(event)

    def end(self, *, is_silent: bool) -> None:
        """Record an end at which nothing was sent any more, if *is_silent*."""
        if self._node is not None and is_silent:
            self._node.ends += 1
        self.stop()


def _new(step: Step, values: Sequence[bytes], texts: Sequence[bytes]) -> list[bytes]:
    """Return what varies in an event: its new *values*, and of its counts any may."""
    keyed = [*zip(texts, step.keys, strict=True)]
    own = [text for text, key in keyed if key is not None]
    counts = b" ".join(text for text, key in keyed if key is None)
    return [*values, *own, *filter(None, [counts])]
