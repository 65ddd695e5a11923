"""What is known of one answer: for the pairs log, the statistics and the view."""

import copy
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ...chat.chunks.chunk import Tokens
from ...records.masking import mask
from ...records.pair_rows import NO_ROWS, Row, Rows
from ...records.record_line import Entry, Record, TextPair, TextPairs
from ...records.snapshot import VERSION, Snapshot
from ...records.statistics import TOKENS
from ...repair.engine.text_memory import Around
from ...repair.outcome import EventRecord
from ...text.echo import Echo

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class AnswerRecord:
    """One answer, from its headers to its end.

    Attributes:
        flow: The flow's id.
        host: The host the request went to, with its port unless it is the usual one.
        path: The request's path, without its query.
        model: The model asked for.
        stream: Whether a stream was asked for.
        observe: Nothing is changed, only watched.
        asked_at: When the request was complete (`time.time`).
        write: Takes each entry of the pairs log, if there is one.
        secrets: Strings of the request that must not be there; none if nobody reads it.
        echo: Finds what an error repeats of the request, if anybody reads that.
        is_error: Whether the status says that the answer is one.
        shown: Whether anybody can look at the pairs once the answer is over.
        rows: Those pairs.
        tokens: What the provider counted: of the prompt, of the completion.
        request: What was changed in the request: an adaptation's name, what it did, and
            the path of a field.
        protocol: The protocol of its client, if that is not chat.
        is_translated: Whether it was translated to that; else its provider speaks it.
        estimates: Whether its client has got tokens that nobody has counted.
        refusal: What the provider refused the request with, if nothing was changed for it.
    """

    flow: str
    host: str
    path: str
    model: str
    stream: bool
    observe: bool
    asked_at: float
    write: Callable[[Entry | TextPair], None] | None = None
    secrets: tuple[str, ...] = ()
    echo: Echo | None = None
    is_error: bool = False
    shown: bool = True
    rows: Rows = field(default_factory=Rows)
    tokens: Tokens = (None, None)
    request: tuple[tuple[str, str, str], ...] = ()
    protocol: str | None = None
    is_translated: bool = False
    estimates: bool = False
    refusal: str = ""
    fixes: dict[str, int] = field(default_factory=dict)  # how often each
    changed: int = 0
    first_ms: float | None = None
    _around: Around | None = None  # the text of the event before, if that was known
    _alike: int = 0  # events like it since, not counted yet
    _last: tuple[int, bytes, list[bytes]] = (0, b"", [])  # of them
    _row: Row | None = None  # of their pairs
    _form: TextPairs | None = None  # the same, for the log
    _headers_at: float = field(default_factory=time.monotonic)
    _waited: float = 0.0  # seconds from the request to the headers, by the clock

    def __post_init__(self) -> None:
        self._waited = max(time.time() - self.asked_at, 0)

    def copy(self) -> "AnswerRecord":
        """Return a copy that does not change, of an answer without events so far."""
        made = copy.copy(self)
        made.fixes, made.rows = self.fixes.copy(), copy.deepcopy(self.rows)
        return made

    def add_event(self, event: EventRecord) -> None:
        """Record what became of one event."""
        if self.first_ms is None:
            self.first_ms = self._since_asked()
        if not event.changed:
            return
        for name in event.fixes:
            self.fixes[name] = self.fixes.get(name, 0) + 1
        self.changed += event.before is not None
        if not (self.shown or self.write):
            return
        ms = self._since_headers()
        if self.shown:
            self.count_alike()
            self._around = None
            self.rows.add_or_count(event.n, ms, event.fixes, event.before, event.after)
        if self.write is not None:
            self._write_pair(event, ms, self.write)

    def count(self, n: int, before: bytes, after: bytes, around: Around) -> None:
        """Record an event that differs from the last ones in its text alone.

        Args:
            n: The event's number.
            before: Its bytes as received.
            after: What was sent for it, maybe nothing.
            around: What is around its text.
        """
        if around is not self._around:
            self._take_up(n, before, [after] if after else [], around)
        self._alike += 1
        if self.shown:
            self._last = n, before, [after] if after else []
        if self.write is None:
            return
        if self._form is not None:
            text = around.text_in(before)
            self.write((self._form, n, time.monotonic(), text))
        else:
            blocks = [after] if after else []
            event = EventRecord(n, before, blocks, list(around.fixes))
            self._write_pair(event, self._since_headers(), self.write)

    def _take_up(
        self, n: int, before: bytes, after: list[bytes], around: Around
    ) -> None:
        """Count the events before, and let those to come be like this one."""
        self.count_alike()
        self._around, self._form = around, None
        if self.shown:
            ms = self._since_headers()
            self._row = self.rows.add(n, ms, around.fixes, before, after)
        if self.protocol is None:
            self._form = TextPairs(
                self.flow,
                self.secrets,
                around.fixes,
                self._headers_at,
                around.received,
                around.sent,
                self.observe,
            )

    def count_alike(self) -> None:
        """Count the events that differed in their text alone, and were not counted yet."""
        around, alike = self._around, self._alike
        if around is None or not alike:
            return
        self._alike = 0
        for name in around.fixes:
            self.fixes[name] = self.fixes.get(name, 0) + alike
        self.changed += alike
        if self._row is not None:
            self.rows.count(self._row, alike, self._last)

    def _write_pair(
        self,
        event: EventRecord,
        ms: float,
        write: Callable[[Entry | TextPair], None],
    ) -> None:
        record = self._line(
            "pair",
            n=event.n,
            ms=ms,
            fixes=event.fixes,
            before=event.before,
            after=event.after,
        )
        write(Entry(record, self.secrets, self.echo, self.is_error))

    def close(
        self, status: int | None, end: str, events: int, bytes_in: int, bytes_out: int
    ) -> Record:
        """Write and return the flow record, see `flow_record`; before it that of the request."""
        record = self.flow_record(status, end, events, bytes_in, bytes_out)
        if self.write is not None:
            if self.request:
                self.write(Entry(self._request()))
            if self.refusal:
                self.write(Entry(self._refusal(status)))
            self.write(Entry(record, self.secrets))
        return record

    def _request(self) -> Record:
        """The record of the changes in the request: names, never values."""
        by_verb = {
            verb: list(
                dict.fromkeys(path for _, did, path in self.request if did == verb)
            )
            for verb in ("dropped", "changed")
        }
        names = list(dict.fromkeys(name for name, _, _ in self.request))
        of = {"host": self.host, "model": self.model}
        return self._line("request", **of, fixes=names, **by_verb)

    def _refusal(self, status: int | None) -> Record:
        """The record of a refusal whose words asked for nothing that is known."""
        words = mask(self.refusal, self.secrets, self.echo, is_error=True)
        of = {"host": self.host, "model": self.model}
        return self._line("refusal", **of, status=status, words=words)

    def flow_record(
        self, status: int | None, end: str, events: int, bytes_in: int, bytes_out: int
    ) -> Record:
        """Return the flow record.

        Args:
            status: The HTTP status as the client got it; None without an answer.
            end: `complete`, `upstream-broke`, `client-left` or `error`; `running` is only
                for a view.
            events: Blocks that were received.
            bytes_in: Bytes received over the wire.
            bytes_out: Bytes sent to the client.
        """
        self.count_alike()
        counted: Record = {}
        if self.tokens != (None, None):
            found = zip(TOKENS, self.tokens, strict=True)
            counted = {name: count for name, count in found if count is not None}
        if self.protocol is not None:
            counted |= {"protocol": self.protocol}
        if self.is_translated:
            counted |= {"translated": True}
        if self.estimates:
            counted |= {"tokens_estimated": True}
        now = datetime.fromtimestamp(time.time(), UTC)
        return self._line(
            "flow",
            time=now.isoformat("T", "milliseconds").replace("+00:00", "Z"),
            host=self.host,
            path=self.path,
            status=status,
            model=self.model,
            stream=self.stream,
            events=events,
            changed=self.changed,
            fixes=dict(self.by_count()) if self.fixes else {},
            bytes_in=bytes_in,
            bytes_out=bytes_out,
            first_ms=self.first_ms,
            total_ms=self._since_asked(),
            end=end,
            **counted,
        )

    def by_count(self) -> list[tuple[str, int]]:
        """Return the fixes and how often each was applied, the most frequent first."""
        return sorted(self.fixes.items(), key=lambda each: -each[1])

    def metadata(self, record: Record, snapshot: Snapshot) -> dict[str, Any]:
        """The data of views and commands, in types that mitmproxy saves with a flow.

        Lists where order matters: mitmproxy's flow files sort the keys of mappings.

        Args:
            record: The flow's record.
            snapshot: What was received, and what was sent.
        """
        rows = (
            self.rows.stored()
            if self.shown
            else NO_ROWS.stored() | {"left_out": self.changed}
        )
        is_running = record["end"] == "running"
        keys = ("host", "model", "status", "stream", "events", "changed")
        return {
            "v": VERSION,
            "observe": self.observe,
            **{key: record[key] for key in (*keys, "first_ms", "total_ms", "end")},
            "fixes": [list(each) for each in self.by_count()],
            "request": [list(each) for each in self.request],
            **rows,
            "is_cut": snapshot.is_cut,
            # What is sent of a translated one is in no view's form.
            "received": snapshot.received if self.protocol or not is_running else None,
            **({self._protocol_key: self.protocol} if self.protocol else {}),
        }

    @property
    def _protocol_key(self) -> str:
        return "protocol" if self.is_translated else "native"

    def _line(self, kind: str, **fields: Any) -> Record:
        """A line of the log."""
        mode = {"mode": "observe"} if self.observe else {}
        return {"type": kind, "v": 1, "flow": self.flow, **fields, **mode}

    def _since_headers(self) -> float:
        return round((time.monotonic() - self._headers_at) * 1000, 1)

    def _since_asked(self) -> float:
        # The clock may be set meanwhile: it is read once only.
        took = self._waited + time.monotonic() - self._headers_at
        return round(took * 1000, 1)
