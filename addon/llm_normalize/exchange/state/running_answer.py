"""One answer on its way: what was asked, what counts for it, and its record."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from mitmproxy import http
from mitmproxy.flow import Error

from ...chat.chunks.text_growth import Growth, ProvedGrowth
from ...chat.state.asked import Asked
from ...chat.state.said_answer import SaidAnswer
from ...mitm.client_stream import slow_down
from ...mitm.connection_errors import break_off, client_left, gateway_status
from ...mitm.flow_list import annotate, show_anew
from ...mitm.second_request import ArrivingBody, Reply, replace_response
from ...protocols import Endpoint
from ...protocols.answer_stream import AnswerStream
from ...records.flow_metadata import ENDS, status_change
from ...records.pair_rows import NO_ROWS, Rows
from ...records.record_line import Record
from ...records.snapshot import KEY, NO_SNAPSHOT, Snapshot
from ...records.statistics import Stats, is_error
from ...repair.engine.event_stream import EventStream
from ...repair.engine.output import Output
from ...repair.engine.page_or_stream import PageOrStream
from ...repair.engine.translated_output import TRANSLATED, TranslatedOutput
from ...request.remembered_answers import RememberedAnswers
from ...routing.pace import Slot
from ...text.echo import MASK, Echo
from ...text.printable import brief
from ...wire.content_encoding import Decoder
from ...wire.event_boundary import EVENT
from ..message.message_body import request_body
from ..message.request_facts import asked_of, place_of, secrets_of
from ..message.response_headers import prepare_headers
from ..record.answer_record import AnswerRecord
from ..request.adapted_request import Adapted
from ..request.native_answer import NativeAnswer
from ..request.translated_request import TranslatedRequest
from ..stream.keepalive_clock import StreamClock
from ..stream.stream_rewriter import Rewriter, Turn
from .settings import Settings

logger = logging.getLogger(__name__)

_TOO_LARGE = "Response body exceeds"
"""What mitmproxy says of `body_size_limit`, before any of the answer was sent."""

CORRUPT = "what the provider sent is corrupt"

_NAME = 1000  # characters of a name, in a record
_NAMED = 3  # fixes in a summary
_BEYOND = 40_000 * EVENT
"""What is looked at of one read of a stream that is translated: all of it, mostly."""

_REPAIRED, _OBSERVED = ":wrench:", ":mag:"
"""Marks in the list of flows (mitmproxy/utils/emoji.py)."""


@dataclass(slots=True)
class RunningAnswer:
    """One answer on its way.

    Attributes:
        flow: Its flow.
        record: What is known of it.
        asked: What its request asked.
        settings: What counts for it.
        snapshot: What was received of it, and what was sent.
        rewriter: What its body passes, if it is a stream.
        pending: Whether another answer will come in its place.
        is_live: Whether that one may be sent as it arrives.
        live_body: The rest of that one then, as it arrives.
        is_last: Whether no other one will be requested.
        is_over: Whether mitmproxy has ended before it: it has its record then.
        behind: What the provider answers behind a stream that has begun before that.
        received_status: The HTTP status that the provider sent, if any.
        status: The HTTP status that was sent to the client, if any.
        on_end: Called when that has ended.
        why: How it ended, in words, where `ENDS` does not say it.
        before_repair: What was known of it before a thread began to repair it, which
            alone may be read until the thread is done.
        clock: Sends what nothing that is received would have sent.
        translated: What its client asked in another protocol, if it did.
        native: What reads it, if it is in the protocol of its client.
        slot: Its request's place, if those of its host are paced.
        said: What its client may not send back, of a body.
        memory: Remembers that, where it may be put back.
        client: Names its client, see `Exchange.client`.
        stats: Counts it at its end.
    """

    flow: http.HTTPFlow
    record: AnswerRecord
    asked: Asked
    settings: Settings
    snapshot: Snapshot
    rewriter: Rewriter | None = None
    pending: bool = False
    is_live: bool = False
    live_body: ArrivingBody | None = None
    is_last: bool = False
    is_over: bool = False
    behind: http.Response | None = None
    received_status: int | None = None
    status: int | None = None
    on_end: Callable[[], None] = lambda: None
    why: str = ""
    before_repair: "RunningAnswer | None" = None
    clock: StreamClock | None = None
    translated: TranslatedRequest | None = None
    native: NativeAnswer | None = None
    slot: Slot | None = None
    said: SaidAnswer | None = None
    memory: RememberedAnswers | None = None
    client: bytes = b""
    stats: Stats = field(default_factory=Stats)
    _shown: int = 0  # bytes that had been sent when it was shown last
    _body: bytes | None = None  # what was shown then: another may be mitmproxy's own

    def know(self, proved: ProvedGrowth, client: bytes) -> None:
        """Know what earlier answers to *client* from its host and model have *proved*."""
        self.client, request = client, self.flow.request.data
        source = request.host, request.port, self.asked.model[:_NAME], client
        self.asked.growth = Growth(proved, source)

    @classmethod
    def of(
        cls,
        flow: http.HTTPFlow,
        settings: Settings,
        adapted: Adapted | None = None,
        *,
        mapped_model: str | None = None,
        path: str | None = None,
        translated: TranslatedRequest | None = None,
        native: Endpoint | None = None,
    ) -> "RunningAnswer":
        """Return the answer of *flow*, whose headers may have arrived.

        Args:
            flow: The flow.
            settings: What counts for the answer.
            adapted: What was changed in its request.
            mapped_model: The model asked for, where another one was sent.
            path: The path asked for, if not the one that was sent.
            translated: What was asked in another protocol, if it was.
            native: Where it was asked in a protocol that its provider speaks itself.
        """
        body = adapted.original if adapted else None
        body = request_body(flow.request) if body is None else body
        strict = settings.strict
        asked = asked_of(flow, strict=strict, body=body, mapped_model=mapped_model)
        snapshot = _snapshot(settings)
        if path is None:
            path = flow.request.path.partition("?")[0]
        response, echo = flow.response, None
        secrets: tuple[str, ...] = ()
        if settings.is_read:  # else nothing has to be masked
            secrets = secrets_of(flow.request)
            echo = Echo(body, secrets)
        record = _record(flow, asked, settings, path, secrets)
        record.echo = echo
        running = cls(flow, record, asked, settings, snapshot)
        running.received_status = response.status_code if response else None
        running.record.request = tuple(adapted.edits) if adapted else ()
        running.translated = translated
        found = translated or native
        record.protocol = found.protocol.name if found is not None else None
        record.is_translated = translated is not None
        if native is not None:
            running.native = NativeAnswer(
                native.protocol, body, flow.id, settings.skipped, asked
            )
        return running

    @property
    def received(self) -> http.Response:
        """What the provider has answered last, whatever its client has got of it."""
        response = self.behind or self.flow.response
        assert response is not None
        return response

    def take(self, reply: Reply) -> None:
        """Put *reply* in the place of what the provider has answered last."""
        replace_response(self.received, reply)
        self.live_body = reply.live_body

    @property
    def label(self) -> str:
        """Its name in log lines."""
        return f"normalize: {brief(self.record.host)} (flow {self.flow.id})"

    def stream_through(self, decoder: Decoder, turn: Turn | None = None) -> Rewriter:
        """Have its body pass a rewriter, which is returned.

        Args:
            decoder: Undoes the content encoding.
            turn: Bounds what is looked at, shared with other streams.
        """
        settings, record, label = self.settings, self.record, self.label
        pipeline: EventStream
        beyond: Callable[[], float] | None = None
        if self.native is not None:
            pipeline = self.native.stream(record.add_event, label)
            beyond = partial(_beyond, None)
        else:
            output: Callable[..., Output] = Output
            if self.translated is not None:
                stream = AnswerStream(self.translated.answer, label)
                output = partial(TranslatedOutput, translate=stream)
                beyond = partial(_beyond, stream)
            pipeline = PageOrStream(
                self.asked,
                settings.plan,
                record.add_event,
                label,
                record.count,
                output,
            )
        self.rewriter = Rewriter(
            pipeline,
            decoder,
            repair=not settings.observe,
            give_up=self.break_off,
            snapshot=self.snapshot,
            turn=turn,
        )
        self.rewriter.beyond = beyond
        return self.rewriter

    def break_off(self) -> None:
        """Have its client see that the rest is missing."""
        break_off(self.flow)

    def slow_down(self) -> None:
        """Have other streams have their turn before more of this one is read."""
        assert self.rewriter is not None
        slow_down(self.flow.client_conn, self.rewriter.turn.at_end)

    def prepare_headers(self, response: http.Response) -> None:
        """Make the headers of *response* those of the stream that is sent."""
        rename = self.settings.applies("content-type-wrong")
        prepare_headers(self.flow.request, response, rename=rename)

    def copy(self) -> "RunningAnswer":
        """A copy of an answer, as if nothing of it had passed a rewriter."""
        return replace(
            self,
            record=self.record.copy(),
            snapshot=_snapshot(self.settings),
            rewriter=None,
        )

    def close(
        self,
        status: int | None,
        end: str,
        figures: tuple[int, int, int] | None = None,
    ) -> Record | None:
        """Write the record of a stream, or of an answer that never arrived, see `write`.

        Args:
            status: The HTTP status that was sent, if any.
            end: How it ended, see `AnswerRecord.flow_record`.
            figures: Its figures, see `write`, if they are known.
        """
        if self.clock is not None:
            self.clock.stop()
        if self.rewriter is not None:
            unread = self.rewriter.pipeline.raw_events
            if unread:
                logger.info(
                    "normalize: %s: %d events passed unread (%s)",
                    brief(self.record.host),
                    unread.total(),
                    ", ".join(f"{reason} {count}" for reason, count in unread.items()),
                )
        return self.write(status, end, figures or self.figures())

    def figures(self) -> tuple[int, int, int]:
        """Return how many events and bytes were received so far, and how many bytes sent."""
        return (0, 0, 0) if self.rewriter is None else self.rewriter.figures()

    def write(
        self, status: int | None, end: str, figures: tuple[int, int, int]
    ) -> Record | None:
        """Write the record, with its *figures*: events, bytes in, bytes out.

        Returns:
            The record; None without a reader.
        """
        record = self.record
        if self.rewriter is not None:
            record.tokens = self.rewriter.pipeline.tokens
            self.said = self.rewriter.pipeline.said
        if self.translated is not None:
            record.estimates = self.translated.answer.estimates
        if self.said and self.memory is not None:
            request = self.flow.request.data
            self.memory.add(self.client, request.host, request.port, self.said)
        record.count_alike()
        is_read = self.settings.is_read
        line = record.close(status, end, *figures) if is_read else None
        fixes, protocol = record.fixes, record.protocol
        names: Iterable[str] = ()
        if record.request:
            names = dict.fromkeys(name for name, _, _ in record.request)
        if protocol is not None:
            fixes = {name: n for name, n in fixes.items() if name != TRANSLATED}
        self.stats.add(
            record.host, record.model, fixes, names, record.tokens, protocol, status
        )
        summary = self._summary(status, end, figures[0]) or "nothing to repair"
        host, model = brief(record.host), brief(record.model)
        logger.info("normalize: %s %s: %s", host, model, summary)
        return line

    def complete(self, status: int, figures: tuple[int, int, int]) -> None:
        """Close the record of an answer that has come to its end.

        Args:
            status: The HTTP status that was sent.
            figures: Its figures, see `write`.
        """
        rewriter = self.rewriter
        if rewriter is None:
            self.store(self.write(status, "complete", figures))
            return
        end, self.why = "complete", ""
        if rewriter.given_up:
            rewriter.pipeline.abandon()
            end = self._end_of_break("upstream-broke", CORRUPT)
        self.store(self.close(status, end, figures))
        self._let_go()

    def _end_of_break(self, end: str, why: str) -> str:
        """Return how an answer has ended that broke off, and save *why*.

        A client with the last event of its protocol has all of the answer: many disconnect
        then, before the provider does.

        Args:
            end: What it is if there was more to come.
            why: The same in words, if `ENDS` does not say it.
        """
        is_over = self.rewriter is not None and self.rewriter.is_done
        self.why = "" if is_over else why
        return "complete" if is_over else end

    def end_without_hooks(self) -> None:
        """Close the record of a stream when it ends: no hook of this addon is called."""
        rewriter = self.rewriter
        assert rewriter is not None

        def ended() -> None:
            self.store(self.close(self.status, "complete"))
            self.on_end()

        def broke(_: object) -> None:
            self.broke()
            self.on_end()

        rewriter.on_end, rewriter.on_break = ended, broke
        rewriter.hand_over()

    def close_without_client(self) -> None:
        """Close the record of an answer whose client left before any of it was sent."""
        self.store(self.close(None, "client-left"))

    def abandon(self, why: str) -> None:
        """Close the record of an answer that nothing more is received of, and say *why*."""
        if self.rewriter is not None:
            self.rewriter.pipeline.abandon()
        end = self._end_of_break("upstream-broke", why)
        self.store(self.close(self.status, end))

    def broke(self, instead: int | None = None) -> None:
        """Close the record of an answer that broke off.

        Args:
            instead: The status of what the client got in its place, if not mitmproxy's.
        """
        flow, rewriter = self.flow, self.rewriter
        given_up = rewriter is not None and rewriter.given_up
        is_left = instead is None and not given_up and client_left(flow)
        if rewriter is not None and rewriter.pipeline.abandon():
            host = brief(self.record.host)
            who = f"the client of {host} left" if is_left else f"{host} broke off"
            logger.warning("normalize: %s while a finish reason or usage waited", who)
        status = flow.response.status_code if flow.response else None
        message = flow.error.msg if flow.error else ""
        refused = message.startswith(_TOO_LARGE)
        if flow.response and (refused or not flow.response.stream):
            # Nothing had been sent: the proxy answers in the provider's place.
            status = instead or gateway_status(flow)
        why = ""
        if refused:
            why = "it is larger than mitmproxy's body_size_limit"
        elif given_up:
            why = CORRUPT
        elif message == Error.KILLED_MESSAGE:
            why = "it was killed"
        end = self._end_of_break("client-left" if is_left else "upstream-broke", why)
        self.store(self.close(status, end))
        self._let_go()

    def _let_go(self) -> None:
        """Let the flow forget its rewriter, and that forget the flow: both are done.

        What refers to itself stays until Python's collector halts all streams to find it,
        and a viewer would keep what nobody can look at.
        """
        rewriter, response = self.rewriter, self.flow.response
        if rewriter is None:
            return
        if response is not None and response.stream == rewriter.read:
            response.stream = True
        rewriter.detach()

    def store(self, line: Record | None) -> None:
        """Store in the flow what was sent and what changed.

        mitmweb, the console and `-w` files show it.

        Args:
            line: The record that `close` or `write` has returned; None without a reader.
        """
        if line is None:
            return
        self._show(line)
        if self.settings.shown:
            mark = _OBSERVED if self.record.observe else _REPAIRED
            is_changed = line["fixes"] or self.record.request
            marks = _OBSERVED, _REPAIRED
            summary = self._summary(line["status"], line["end"], line["events"])
            annotate(self.flow, summary, mark if is_changed else "", marks)

    def _summary(self, status: int | None, end: str, events: int) -> str:
        """The summary of an answer, for a log line or a list of flows."""
        parts, record = [], self.record
        if record.fixes:
            verb = "would be repaired" if record.observe else "repaired"
            named = [f"{name} {count}" for name, count in record.by_count()]
            more = ["…"] if len(named) > _NAMED else []  # a window is so wide
            fixes = ", ".join([*named[:_NAMED], *more])
            # A result that was fetched counts beside what is repaired of it.
            what = f"{min(record.changed, events)} of {events} events"
            if is_error(status):
                what = f"error, status {status_change(self.received_status, status)},"
            parts.append(f"{what} {verb} ({fixes})")
        if record.request:
            would = "would be " if record.observe else ""
            edits = (f"{path} {would}{verb}" for _, verb, path in record.request)
            parts.append(f"request: {', '.join(map(brief, edits))}")
        if end in ENDS:
            parts.append(self.why or ENDS[end])
        return "; ".join(parts)

    def show(self) -> None:
        """Let mitmweb and the console show what has been sent so far."""
        self._show(self.record.flow_record(self.status, "running", *self.figures()))

    def _show(self, line: Record) -> None:
        if not self.settings.stored:
            return
        recorded = self.record.metadata(line, self.snapshot)
        asked = self.asked
        more = {
            "received_status": self.received_status,
            "usage": asked.usage,
            "mapped_model": asked.model if asked.is_mapped else None,
            "why": self.why,
        }
        self.flow.metadata[KEY] = {**recorded, **more}
        response = self.flow.response
        if self.rewriter is None or response is None:
            return
        if not response.raw_content or response.raw_content is self._body:
            # Not the `content` setter: it would encode, and set a content-length.
            response.data.content = self._body = self.snapshot.body

    def show_growth(self) -> None:
        """Have the flow shown anew where more than twice as much has been sent since."""
        _, _, sent = self.figures()
        if self.settings.shown and sent and sent >= 2 * self._shown:
            self._shown = sent
            self.show()
            show_anew(self.flow)


def _beyond(stream: AnswerStream | None) -> float:
    return 0 if stream is not None and stream.is_over else _BEYOND


def _snapshot(settings: Settings) -> Snapshot:
    if not settings.stored:
        return NO_SNAPSHOT
    return Snapshot(both=settings.shown)


def _record(
    flow: http.HTTPFlow,
    asked: Asked,
    settings: Settings,
    path: str,
    secrets: tuple[str, ...],
) -> AnswerRecord:
    request = flow.request
    log = settings.log
    for secret in secrets:
        path = path.replace(secret, MASK)
    return AnswerRecord(
        flow=flow.id,
        host=(settings.place or place_of(request))[:_NAME],
        path=path[:_NAME],
        model=asked.model[:_NAME],
        stream=asked.stream,
        observe=settings.observe,
        asked_at=request.data.timestamp_end or request.data.timestamp_start,
        write=log.write if log is not None else None,
        secrets=secrets,
        shown=settings.shown,
        rows=Rows() if settings.shown else NO_ROWS,
    )
