"""Traces: the events that streams with the same trace key have in common, step by step.

Streams of one provider begin and end alike. A *trace* is what a stream learns on the slow
path: one step per event, with the output for it. A stream that begins like two streams
before it follows their trace, and none of its events is parsed. The terms are those of
tracing compilers: a *guard* tells whether an event matches a step. If no guard matches, the
stream takes a *side exit* (`stream_trace.py`).

Only these parts of an event may vary: texts and counts, as in a template, and the stream's
own values: its id, unless that looks like a time, and its creation time. All other bytes
are compared.

Why sharing is safe: the output depends only on the stream's bytes and on the trace key. A
step is used after two streams produced the same result with different texts and values. It
is used only if no fix reads those texts (`Fix.watched`; of texts that may grow, only those
that do not begin with the previous one). Output that is neither in the event nor a value of
the stream cannot form a step: usage that was held back, for example, or an invented id. Nor
can output that a fix invents (`Fix.makes_up`): a time or a sum may be in an event by chance.
A stream does not follow a step if one of its own values equals bytes that differ in other
streams. A stream with a fix that reads any text (`Fix.reads_texts`) shares nothing.

Traces are evicted least recently used first. They are also dropped when they grow too large
or when a bug occurs. Learning stops if streams never agree.
"""

import itertools
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from .template import (
    COUNT,
    TEXT,
    Template,
    first_equal_index,
    is_count,
    is_text,
    is_unicode,
    read,
)
from .template_candidate import HOLE

MAX_TREES = 64
MAX_STEPS = 24
"""Steps of a trace from its beginning: what is longer has not settled."""
MAX_NODES = 256
"""Steps of a tree, seen once or twice."""
_MAX_GUARDS = 8
"""Steps from one node: a stream that fits none of so many is another's."""
_MAX_TRIES = 160
"""Steps that the streams of a tree record although none was seen twice since."""
MAX_EVENT_BYTES = 2048
"""Bytes of an event: a trace of them is shorter than what may wait (`extra_fields.MAX_EXTRA_BYTES`)."""

TEXT_KIND, COUNT_KIND = -1, -2
_TIME = rb"1[0-9]{9}"
_ID = rb"(?=[\w-]*[0-9])(?!%b(?![\w-]))[\w-]{6,128}" % _TIME
_OWN = (
    rb'"id"[ \t]*:[ \t]*"(?P<id>%b)"'
    rb'|"created"[ \t]*:[ \t]*(?P<created>%b)(?![\w.+-])'
) % (_ID, _TIME)
_HOLES = re.compile(HOLE.pattern + rb"|" + _OWN)
_OWN_HOLES = re.compile(_OWN)
_GROUPS: dict[int | str, Callable[[bytes, int], re.Match[bytes] | None]] = {
    TEXT_KIND: re.compile(TEXT).match,
    COUNT_KIND: re.compile(COUNT + rb"(?![\w.+-])").match,
    "id": re.compile(_ID).match,
    "created": re.compile(_TIME + rb"(?![\w.+-])").match,
}

type Parts = tuple[bytes | int, ...]
"""Bytes, and what stands between them: numbers of an event's own texts and counts, from
0; of the stream's values, `~number`."""


class Form:
    """Parts, made ready to be filled.

    Args:
        parts: The parts.
    """

    __slots__ = ("_format", "_gaps")

    def __init__(self, parts: Parts) -> None:
        self._gaps = [part for part in parts if not isinstance(part, bytes)]
        self._format = b"".join(
            part.replace(b"%", b"%%") if isinstance(part, bytes) else b"%b"
            for part in parts
        )

    def fill(self, values: Sequence[bytes], texts: Sequence[bytes] = ()) -> bytes:
        """Return the parts with the *values* of a stream and the *texts* of an event."""
        found = [values[~gap] if gap < 0 else texts[gap] for gap in self._gaps]
        return self._format % tuple(found)


@dataclass(frozen=True, slots=True)
class TemplateShape:
    """A template without a stream's own values."""

    head: Parts
    between: tuple[Parts, ...]
    tail: Parts
    out: tuple[Parts | int, ...]
    same: tuple[int, ...]
    fixes: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, template: Template, values: Sequence[bytes]) -> "TemplateShape":
        """Return *template*, of a stream with these *values*; ValueError for others."""
        return cls(
            _valued(template.head, values),
            tuple(_valued(each, values) for each in template.between),
            _valued(template.tail, values),
            tuple(
                each if isinstance(each, int) else _valued(each, values)
                for each in template.out
            ),
            template.same,
            template.fixes,
            template.counts,
        )


class TemplateForm:
    """A template that lacks a stream's own values alone.

    Args:
        shape: The template without them.
    """

    def __init__(self, shape: TemplateShape) -> None:
        self._shape = shape
        self._head, self._tail = Form(shape.head), Form(shape.tail)
        self._between = [*map(Form, shape.between)]
        self._out = [
            each if isinstance(each, int) else Form(each) for each in shape.out
        ]

    def template(self, values: Sequence[bytes]) -> Template:
        """Return the template of a stream with these *values*."""
        out = [
            each if isinstance(each, int) else each.fill(values) for each in self._out
        ]
        shape = self._shape
        return Template(
            self._head.fill(values),
            tuple([each.fill(values) for each in self._between]),
            self._tail.fill(values),
            shape.same,
            tuple(out),
            shape.fixes,
            (),
            shape.counts,
        )


def _valued(data: bytes, values: Sequence[bytes]) -> Parts:
    """Return *data* with the numbers of the *values* in it; ValueError for others."""
    parts: list[bytes | int] = []
    at = 0
    for match in _OWN_HOLES.finditer(data):
        start, end = match.span(match.lastgroup or "")
        parts += [data[at:start], ~values.index(data[start:end])]
        at = end
    return (*parts, data[at:])


@dataclass(frozen=True, slots=True)
class FinishedRecord:
    """A record completed by this step.

    Attributes:
        back: How many steps ago its event was received; None if it was added.
        offset: Its number, less that of the step's event.
        after: What was sent.
        fixes: What changed it.
        moved: As in `EventRecord`.
    """

    back: int | None
    offset: int
    after: tuple[Parts, ...]
    fixes: tuple[str, ...]
    moved: bool


@dataclass(frozen=True, slots=True)
class Step:
    """An event, and what becomes of it.

    Attributes:
        received: The bytes around what varies.
        kinds: What that is: the number of a value of the stream, a text, a count.
        names: The kind of each value of the stream.
        same: For each text or count, the index of the first equal one.
        keys: (choice, key) of each text; None of a count.
        sent: What is sent; None if that is what was received.
        is_anew: Whether its texts are spelled anew there.
        closed: The records that are complete then.
        verbatim: See `Output`.
        waits: Whether something waits after it.
        tokens: The numbers of the counts that are the stream's figures; None if it
            has none.
        shapes: The templates that hold after it, without a stream's own values.
    """

    received: tuple[bytes, ...]
    kinds: tuple[int, ...]
    names: tuple[str, ...]
    same: tuple[int, ...]
    keys: tuple[tuple[int, str] | None, ...]
    sent: Parts | None
    is_anew: bool
    closed: tuple[FinishedRecord, ...]
    verbatim: bool
    waits: bool
    tokens: tuple[int | None, int | None] | None
    shapes: tuple[TemplateShape, ...]

    @property
    def guard(self) -> Hashable:
        """What an event of it looks like."""
        return self.received, self.kinds, self.same


class RecordForm:
    """A record that a step completes, but for what varies.

    Args:
        record: The record.
        sent: What is sent for the step's event.
    """

    def __init__(self, record: FinishedRecord, sent: Parts | None) -> None:
        self.record = record
        self.equals_sent = record.after == (sent,)
        """Whether its output is what is sent for the event."""
        self.after = [*map(Form, record.after)]
        """Its output."""


class OneText:
    """An event in which at most one text or count varies, beside known values.

    Args:
        received: See `Step`.
        kinds: See `Step`.
    """

    def __init__(self, received: tuple[bytes, ...], kinds: tuple[int, ...]) -> None:
        self.needs = max(kinds, default=-1) + 1
        """How many values of the stream have to be known."""
        around: list[list[bytes | int]] = [[received[0]]]
        for kind, part in zip(kinds, received[1:], strict=True):
            if kind < 0:
                around.append([part])
            else:
                around[-1] += [~kind, part]
        self._before, *behind = (Form(tuple(each)) for each in around)
        self._behind = behind[0] if behind else None
        self.counts = COUNT_KIND in kinds
        """Whether that is a count."""
        self._is_text = is_count if self.counts else is_text

    def around(self, values: Sequence[bytes]) -> tuple[bytes, bytes | None]:
        """Return what precedes the text, and what is behind it: None without a text."""
        behind = None if self._behind is None else self._behind.fill(values)
        return self._before.fill(values), behind

    def texts(self, raw: bytes, values: Sequence[bytes]) -> list[bytes] | None:
        """Return the texts of *raw*, one or none; None if it is another event."""
        head, tail = self.around(values)
        if tail is None:
            return [] if raw == head else None
        if not (raw.startswith(head) and raw.endswith(tail)):
            return None
        text = raw[len(head) : len(raw) - len(tail)]
        return [text] if self._is_text(text) else None


class Edge:
    """A step that two streams have gone.

    Args:
        step: The step.
        node: Where it leads.
        known: The templates that hold then; of equal ones always the same object.
        one_text: Its event, if at most one text varies there: to compare that is
            quicker than to look at all parts. Of equal ones always the same object.
    """

    def __init__(
        self,
        step: Step,
        node: "Node",
        known: tuple[TemplateForm, ...],
        one_text: OneText | None = None,
    ) -> None:
        self.step = step
        self.node = node
        self.known = known
        self.sent = None if step.sent is None else Form(step.sent)
        """What is sent; None if that is what was received."""
        self.closed = [RecordForm(each, step.sent) for each in step.closed]
        """Its records."""
        self.changed = [each for each in self.closed if each.record.fixes]
        """Its records but those of which nothing was changed."""
        self.keys = [(at, key) for at, key in enumerate(step.keys) if key is not None]
        """Which of its texts are not counts, and (choice, key) of each."""
        names = iter(step.names)
        groups = [kind if kind < 0 else next(names) for kind in step.kinds]
        matches = [_GROUPS[each] for each in groups]
        # No part is tried twice: a compiled pattern of all would be thirty times as large.
        self._parts = [*zip(step.kinds, matches, step.received[1:], strict=True)]
        self._head = step.received[0]
        self._fixed = b"\n".join(step.received)
        self._is_sure = step.sent is None or step.is_anew
        self.one_text = one_text

    def fit(
        self, raw: bytes, values: list[bytes]
    ) -> tuple[list[bytes], list[bytes]] | None:
        """Return the stream's values and the event's texts if *raw* matches the step.

        Args:
            raw: The event, of at most `MAX_EVENT_BYTES`.
            values: The values of the stream so far.
        """
        simple = self.one_text
        if simple is not None and simple.needs <= len(values):
            texts = simple.texts(raw, values)
        else:
            values, texts = self._values_and_texts(raw, values)
        if texts is None:
            return None
        return (values, texts) if self._is_free(values, texts) else None

    def around(self, values: Sequence[bytes]) -> tuple[bytes, bytes | None] | None:
        """Return what precedes and what follows the text of each event that fits.

        Such an event `fit`s if its text is not empty, and `PLAIN`.

        Args:
            values: The values of the stream; an event that fits has no others.

        Returns:
            None if more may vary than a text; nothing follows where nothing varies.
        """
        simple = self.one_text
        if simple is None or simple.counts or simple.needs > len(values):
            return None
        head, tail = simple.around(values)
        is_short = len(head) + len(tail or b"") <= MAX_EVENT_BYTES
        return (head, tail) if is_short and self._is_free(values, ()) else None

    def _values_and_texts(
        self, raw: bytes, values: list[bytes]
    ) -> tuple[list[bytes], list[bytes] | None]:
        """Return the stream's values and the event's texts; None if it is another event."""
        at, texts = len(self._head), list[bytes]()
        if not raw.startswith(self._head):
            return values, None
        for kind, match, part in self._parts:
            here = match(raw, at)
            if here is None or not raw.startswith(part, here.end()):
                return values, None
            found = here[0]
            at += len(found) + len(part)
            if kind < 0:
                texts.append(found)
            elif kind < len(values):
                if values[kind] != found:
                    return values, None
            elif found in values:
                return values, None  # two that were different are the same
            else:
                values = [*values, found]
        is_its = at == len(raw) and (raw.isascii() or is_unicode(raw))
        return values, texts if is_its else None

    def _is_free(self, values: Sequence[bytes], texts: Sequence[bytes]) -> bool:
        """Tell whether no value or text may change the result.

        No text may be spelled anew or begin another one, no value be among fixed bytes.
        """
        for value in values:
            if (
                self._fixed.find(value) >= 0
            ):  # quicker than `in`, which tries numbers first
                return False  # what differed from it in two streams is the same here
        for text in texts:
            if text.find(b"\\") >= 0 and not self._is_sure:
                return False  # it may be spelled anew
        if len(texts) < 2:  # noqa: PLR2004 - there is nothing to be compared
            return True
        is_same = first_equal_index(texts) == self.step.same
        return is_same and not overlap({texts[at] for at, _ in self.keys})


def overlap(texts: set[bytes]) -> bool:
    """Tell whether any of *texts*, all different, begins with another one."""
    if len(texts) < 2:  # noqa: PLR2004 - which is the rule
        return False
    ordered = sorted(read(each) for each in texts)
    return any(then.startswith(one) for one, then in itertools.pairwise(ordered))


def begins_with(text: bytes, last: bytes) -> bool:
    """Tell whether *text*, as it is spelled in JSON, begins with *last*."""
    if text.find(b"\\") >= 0 or last.find(b"\\") >= 0:
        return read(text).startswith(read(last))
    return text.startswith(last)


@dataclass(eq=False, slots=True)
class Node:
    """Where the streams of a tree are after the same steps.

    Attributes:
        edges: The steps that two have gone from here.
        tried: Those that one has gone, where they lead, and what varied in it.
        unsure: Guards whose events have not had the same result.
        ends: How many streams have ended here, with nothing sent any more.
    """

    edges: list[Edge] = field(default_factory=list)
    tried: "dict[Step, tuple[Node, tuple[bytes, ...]]]" = field(default_factory=dict)
    unsure: set[Hashable] = field(default_factory=set)
    ends: int = 0


class TraceTree:
    """The traces of all streams with one trace key.

    Args:
        forget: Drops this tree.
    """

    def __init__(self, forget: Callable[[], None] = lambda: None) -> None:
        self.root = Node()
        self.forget = forget
        self._nodes = 0
        self._tries = 0
        self._forms: dict[TemplateShape, TemplateForm] = {}
        self._one_texts: dict[tuple[tuple[bytes, ...], tuple[int, ...]], OneText] = {}

    @property
    def learns(self) -> bool:
        """Whether a stream on the slow path is worth recording."""
        return self._tries < _MAX_TRIES

    def go(self, node: Node, step: Step, varied: tuple[bytes, ...]) -> Node | None:
        """Return where *step* leads from *node*; None if it leads nowhere.

        Args:
            node: Where the stream is.
            step: The step that its event took on the slow path.
            varied: All that varied in it so far.
        """
        self._tries += 1
        if step.guard in node.unsure or any(
            each.step.guard == step.guard for each in node.edges
        ):
            return None
        found = node.tried.get(step)
        if found is None:
            others = [each for each in node.tried if each.guard == step.guard]
            if others:
                for each in others:
                    del node.tried[each]
                node.unsure.add(step.guard)
                if len(node.unsure) > _MAX_GUARDS:
                    self.forget()
                return None
            return self._add(node, step, varied)
        then, before = found
        if any(map(bytes.__eq__, before, varied)):
            node.tried[step] = then, varied  # the next one may differ from this one
            return then
        del node.tried[step]
        known = tuple([self._known(each) for each in step.shapes])
        edge = Edge(step, then, known, self._one_text(step))
        node.edges = [edge, *node.edges][:_MAX_GUARDS]
        self._tries = 0
        return then

    def _one_text(self, step: Step) -> OneText | None:
        if len(step.keys) > 1:
            return None
        form = step.received, step.kinds
        found = self._one_texts.get(form)
        if found is None:
            found = self._one_texts[form] = OneText(*form)
        return found

    def _known(self, shape: TemplateShape) -> TemplateForm:
        found = self._forms.get(shape)
        if found is None:
            found = self._forms[shape] = TemplateForm(shape)
        return found

    def _add(self, node: Node, step: Step, varied: tuple[bytes, ...]) -> Node | None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self.forget()
            return None
        if len(node.tried) >= _MAX_GUARDS:
            del node.tried[next(iter(node.tried))]
        then = Node()
        node.tried[step] = then, varied
        return then


class Traces:
    """The trace trees of all streams, evicted least recently used first."""

    def __init__(self) -> None:
        self._trees: OrderedDict[Hashable, TraceTree] = OrderedDict()

    def at(self, key: Hashable) -> TraceTree:
        """Return the tree of *key*: what decides the output besides a stream's bytes."""
        tree = self._trees.get(key)
        if tree is None:
            tree = self._trees[key] = TraceTree(lambda: self._forget(key))
            if len(self._trees) > MAX_TREES:
                self._trees.popitem(last=False)
        else:
            self._trees.move_to_end(key)
        return tree

    def _forget(self, key: Hashable) -> None:
        self._trees.pop(key, None)


def holes(raw: bytes) -> tuple[list[bytes], list[tuple[str, str, bytes]]]:
    """Return the bytes around what may vary in *raw*, and that: kind, key, bytes."""
    parts, found, at = [], [], 0
    for match in _HOLES.finditer(raw):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        parts.append(raw[at:start])
        found.append((kind, (match["key"] or b"").decode(), raw[start:end]))
        at = end
    return [*parts, raw[at:]], found
