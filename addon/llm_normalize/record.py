"""What is known of one answer: for the pairs log, the statistics and the view."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .line import Entry, Form, Known, Record
from .step import Step
from .template import Template

KEY = "llm_normalize"
"""Where a flow's metadata holds the record that the view shows."""

_SHOWN_PAIRS = 300
_SHOWN_BYTES = 512 * 1024


@dataclass
class Answer:
    """One answer, from its headers to its end.

    Attributes:
        flow: The flow's id.
        host: The host the request went to.
        path: The request's path, without its query.
        model: The model asked for.
        stream: Whether a stream was asked for.
        observe: Nothing is changed, only watched.
        asked_at: When the request was complete (`time.time`).
        write: Takes each entry of the pairs log, if there is one.
        secrets: Strings of the request that must not be there.
        shown: Whether anybody can look at the pairs once the answer is over.
    """

    flow: str
    host: str
    path: str
    model: str
    stream: bool
    observe: bool
    asked_at: float
    write: Callable[[Entry | Known], None] | None = None
    secrets: tuple[str, ...] = ()
    shown: bool = True
    fixes: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    first_ms: float | None = None
    _pairs: list[list[Any]] = field(default_factory=list)
    _pairs_bytes: int = 0
    _pairs_left_out: int = 0
    _shows_all: bool = False  # that it can
    _template: Template | None = None  # of the event before, if one knew it
    _patched: int = 0  # events that it knew since, not counted yet
    _form: Form | None = None  # of their pairs
    _texts: tuple[slice, slice] = (slice(0), slice(0))  # where their text is
    _headers_at: float = field(default_factory=time.monotonic)
    _waited: float = 0.0  # seconds from the request to the headers, by the clock

    def __post_init__(self) -> None:
        self._waited = max(time.time() - self.asked_at, 0)
        self._shows_all = not self.shown

    def step(self, step: Step) -> None:
        """Take what became of one event."""
        if self.first_ms is None:
            self.first_ms = self._since_asked()
        if not step.changed:
            return
        for name in step.fixes:  # quicker than Counter.update
            self.fixes[name] += 1
        self.changed += step.before is not None
        ms = round((time.monotonic() - self._headers_at) * 1000, 1)
        self._show(step, ms)
        if self.write is not None:
            self._write_pair(step, ms, self.write)

    def count(self, n: int, before: bytes, after: bytes, template: Template) -> bool:
        """Take an event that *template* knew; tell whether that was all there is to do.

        Nothing but the log has to have it, once the view has enough of them.
        """
        if template is not self._template:
            self._take_up(template)
        write, form = self.write, self._form
        if not self._shows_all or (write is not None and form is None):
            return False
        self._patched += 1
        if write is not None and form is not None:
            text, repaired = self._texts
            write((form, n, time.monotonic(), before[text], after[repaired]))
        return True

    def _take_up(self, template: Template) -> None:
        """Count what the template before knew, and let *template* be the next."""
        self._changed_alike()
        self._template = template
        self._form = None
        if template.edges is not None:
            head, tail, new_head, new_tail = template.edges
            self._texts = slice(head, -tail), slice(new_head, -new_tail)
            self._form = Form(
                self.flow,
                self.secrets,
                template.fixes,
                self._headers_at,
                (template.head, template.tail),
                template.sides,
                self.observe,
            )

    def _changed_alike(self) -> None:
        """Count the events that one template knew."""
        if self._template is not None and self._patched:
            for name in self._template.fixes:
                self.fixes[name] += self._patched
            self.changed += self._patched
            self._pairs_left_out += self._patched
            self._patched = 0

    def _write_pair(
        self, step: Step, ms: float, write: Callable[[Entry | Known], None]
    ) -> None:
        record = {
            "type": "pair",
            "v": 1,
            "flow": self.flow,
            "n": step.n,
            "ms": ms,
            "fixes": step.fixes,
            "before": step.before,
            "after": step.after,
        }
        write(Entry(self._mode(record), self.secrets))

    def close(
        self, status: int | None, end: str, events: int, bytes_in: int, bytes_out: int
    ) -> Record:
        """Write and return the flow record.

        Args:
            status: The HTTP status as the client got it; None without an answer.
            end: `complete`, `upstream-broke`, `client-left` or `error`.
            events: Blocks that came.
            bytes_in: Bytes that came over the wire.
            bytes_out: Bytes that left.
        """
        self._changed_alike()
        record = self._mode(
            {
                "type": "flow",
                "v": 1,
                "flow": self.flow,
                "time": _rfc3339(time.time()),
                "host": self.host,
                "path": self.path,
                "status": status,
                "model": self.model,
                "stream": self.stream,
                "events": events,
                "changed": self.changed,
                "fixes": dict(self.fixes.most_common()),
                "bytes_in": bytes_in,
                "bytes_out": bytes_out,
                "first_ms": self.first_ms,
                "total_ms": self._since_asked(),
                "end": end,
            }
        )
        if self.write is not None:
            self.write(Entry(record, self.secrets))
        return record

    def metadata(self, record: Record, *, body_cut: bool = False) -> dict[str, Any]:
        """Return what the view needs, in types that mitmproxy saves with a flow.

        Lists where order matters: mitmproxy's flow files sort the keys of mappings.

        Args:
            record: The flow's record.
            body_cut: Whether not all of the body that was sent is kept.
        """
        return {
            "v": 1,
            "observe": self.observe,
            "end": record["end"],
            "events": record["events"],
            "changed": self.changed,
            "fixes": [[name, count] for name, count in self.fixes.most_common()],
            "pairs": self._pairs,
            "left_out": self._pairs_left_out,
            "body_cut": body_cut,
        }

    def _show(self, step: Step, ms: float) -> None:
        size = len(step.before or b"") + sum(map(len, step.after))
        if self._shows_all or self._pairs_bytes + size > _SHOWN_BYTES:
            self._shows_all = True
            self._pairs_left_out += 1
            return
        self._pairs_bytes += size
        self._shows_all = len(self._pairs) >= _SHOWN_PAIRS - 1
        self._pairs.append(
            [step.n, ms, list(step.fixes), step.before, list(step.after)]
        )

    def _mode(self, record: Record) -> Record:
        return {**record, "mode": "observe"} if self.observe else record

    def _since_asked(self) -> float:
        # The clock may be set meanwhile; what it said once is all that is taken of it.
        took = self._waited + time.monotonic() - self._headers_at
        return round(took * 1000, 1)


def _rfc3339(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"
