"""The answers on their way: each begins with its headers and ends in one record."""

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import NamedTuple

from mitmproxy import http

from .body import repair_body
from .decoding import decoder_for
from .errors import phrase
from .fix import Fix
from .flows import answers_events, break_off, client_left, prepare_headers, secrets_of
from .pairs import PairsLog, Record
from .pipeline import Pipeline
from .record import KEY, Answer
from .stats import Stats
from .stream import Rewriter
from .stream_state import Asked

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What counts for an answer from its beginning to its end.

    Attributes:
        fixes: The fixes to apply, in order.
        observe: Change nothing, report what would be changed.
        strict: Drop fields that OpenAI does not define.
        log: The pairs log, if there is one.
    """

    fixes: Sequence[type[Fix]]
    observe: bool
    strict: bool
    log: PairsLog | None


class _Running(NamedTuple):
    answer: Answer
    asked: Asked
    settings: Settings
    rewriter: Rewriter | None


def asked_of(flow: http.HTTPFlow, settings: Settings) -> Asked:
    """Return what the request of *flow* asked."""
    request, response = flow.request, flow.response
    if request.raw_content is None and response is not None:
        # Sent on unread (stream_large_bodies): the answer tells what was asked.
        asked = Asked(stream=answers_events(response))
    else:
        asked = Asked.from_body(request.get_content(strict=False))
    begun = response.timestamp_start if response else request.timestamp_start
    return replace(asked, id=flow.id, time=int(begun), strict=settings.strict)


class Answers:
    """The answers on their way.

    Args:
        stats: Counts each answer at its end.
    """

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._running: dict[str, _Running] = {}
        self._expected: set[str] = set()  # flows that were asked, and not answered yet

    def expect(self, flow: http.HTTPFlow) -> None:
        """Take note of a request, whose answer may never come."""
        self._expected.add(flow.id)

    def begin(self, flow: http.HTTPFlow, settings: Settings) -> None:
        """Take an answer whose headers have come; they leave right after this."""
        response = flow.response
        assert response is not None
        self._expected.discard(flow.id)
        asked = asked_of(flow, settings)
        answer = _answer(flow, asked, settings)
        self._running[flow.id] = _Running(answer, asked, settings, None)
        if not asked.stream or not 200 <= response.status_code < 300:  # noqa: PLR2004
            return
        if callable(response.stream):
            logger.warning(
                "normalize: another addon streams %s; it stays as it is", answer.host
            )
            return
        encoding = response.headers.get("content-encoding", "")
        decoder = decoder_for(encoding)
        if decoder is None:
            logger.warning(
                "normalize: %s answers in an encoding that is not undone (%s); "
                "it stays as it is",
                answer.host,
                encoding,
            )
            response.stream = True
            return
        label = _label(flow)
        rewriter = Rewriter(
            Pipeline(asked, settings.fixes, answer.step, label),
            decoder,
            repair=not settings.observe,
            give_up=lambda: break_off(flow),
            sent=answer.sent,
            label=label,
        )
        if not settings.observe:
            prepare_headers(flow.request, response)
        response.stream = rewriter
        self._running[flow.id] = _Running(answer, asked, settings, rewriter)

    def end(self, flow: http.HTTPFlow) -> None:
        """Repair an answer in one piece, or close the record of a stream."""
        running = self._running.pop(flow.id, None)
        response = flow.response
        if running is None or response is None:
            return
        rewriter = running.rewriter
        if rewriter is None:
            self._repair_whole(flow, response, running)
            return
        if not rewriter.bytes_in and response.raw_content:
            # Made by another addon, or a server replay: it never passed the rewriter.
            made = rewriter(response.raw_content) + rewriter(b"")
            response.data.content = b"".join(made)
        if rewriter.given_up:
            rewriter.pipeline.abandon()
        end = "upstream-broke" if rewriter.given_up else "complete"
        self._keep(flow, running, self._close(running, response.status_code, end))

    def broke(self, flow: http.HTTPFlow, settings: Callable[[], Settings]) -> None:
        """Close the record of an answer that broke off, or did not begin.

        Args:
            flow: The flow, with its error.
            settings: Returns what would have counted for an answer that did not begin.
        """
        running = self._running.pop(flow.id, None)
        if running is not None:
            self._broke_off(flow, running)
        elif flow.id in self._expected:
            self._expected.discard(flow.id)
            chosen = settings()
            asked = asked_of(flow, chosen)
            running = _Running(_answer(flow, asked, chosen), asked, chosen, None)
            self._close(running, _gateway_status(flow), "error")

    def _broke_off(self, flow: http.HTTPFlow, running: _Running) -> None:
        rewriter = running.rewriter
        if rewriter is not None and rewriter.pipeline.abandon():
            logger.warning(
                "normalize: %s broke off while a finish reason or usage waited",
                running.answer.host,
            )
        status = flow.response.status_code if flow.response else None
        if flow.response and not flow.response.stream:
            # Nothing had been sent: mitmproxy answers in the provider's place.
            status = _gateway_status(flow)
        end = "client-left" if client_left(flow) else "upstream-broke"
        self._keep(flow, running, self._close(running, status, end))

    def hand_over(self, idle: Callable[[], None]) -> None:
        """Let open streams go on without hooks, as at a reload of the addon.

        Args:
            idle: Called when the last of them has ended, at once if there is none.
        """
        streams = [
            (each, each.rewriter) for each in self._running.values() if each.rewriter
        ]
        self._running.clear()
        left = len(streams)

        def ended(running: _Running) -> None:
            nonlocal left
            self._close(running, int(HTTPStatus.OK), "complete")
            left -= 1
            if not left:
                idle()

        for running, rewriter in streams:
            rewriter.on_end = functools.partial(ended, running)
        if not streams:
            idle()

    def close_all(self) -> None:
        """Write the records of what is open when mitmproxy ends."""
        for running in self._running.values():
            if running.rewriter is not None:
                running.rewriter.pipeline.abandon()
            self._close(running, None, "upstream-broke")
        self._running.clear()

    def _repair_whole(
        self, flow: http.HTTPFlow, response: http.Response, running: _Running
    ) -> None:
        answer, asked, settings, _ = running
        size = len(response.raw_content or b"")
        label = _label(flow)
        content = step = None
        try:
            # What has been streamed has left already.
            content = None if response.stream else response.get_content()
            status = response.status_code
            if content or (content is not None and status >= HTTPStatus.BAD_REQUEST):
                step = repair_body(content, status, asked, settings.fixes, label)
        except ValueError as error:
            logger.warning("%s: the body cannot be decoded (%s)", label, error)
        except Exception:
            logger.exception("%s: repair failed, the body stays as it is", label)
        if step is not None:
            answer.step(step)
            if step.changed and not settings.observe:
                if step.status:
                    response.status_code = step.status
                    response.reason = phrase(step.status)
                response.content = step.after[0]
                if "json" not in response.headers.get("content-type", ""):
                    response.headers["content-type"] = "application/json"
        figures = (1 if content else 0, size, len(response.raw_content or b""))
        record = self._write(answer, response.status_code, "complete", figures)
        flow.metadata[KEY] = answer.metadata(record)

    def _close(self, running: _Running, status: int | None, end: str) -> Record:
        figures = (0, 0, 0)
        if running.rewriter is not None:
            rewriter = running.rewriter
            unread = rewriter.pipeline.raw_events
            if unread:
                logger.info(
                    "normalize: %s: %d events passed unread (%s)",
                    running.answer.host,
                    unread.total(),
                    ", ".join(f"{reason} {count}" for reason, count in unread.items()),
                )
            figures = (rewriter.pipeline.events, rewriter.bytes_in, rewriter.bytes_out)
        return self._write(running.answer, status, end, figures)

    def _write(
        self,
        answer: Answer,
        status: int | None,
        end: str,
        figures: tuple[int, int, int],
    ) -> Record:
        record = answer.close(status, end, *figures)
        self._stats.add(answer.host, answer.model, record["fixes"])
        if record["fixes"]:
            logger.info(
                "normalize: %s %s: %d of %d events %s (%s)",
                answer.host,
                answer.model,
                answer.changed,
                record["events"],
                "would be repaired" if answer.observe else "repaired",
                ", ".join(f"{name} {count}" for name, count in record["fixes"].items()),
            )
        return record

    def _keep(self, flow: http.HTTPFlow, running: _Running, record: Record) -> None:
        """Let mitmweb and `-w` files show what was sent, and the view what changed."""
        flow.metadata[KEY] = running.answer.metadata(record)
        if flow.response is not None and not flow.response.raw_content:
            # Not the `content` setter: it would encode, and set a content-length.
            flow.response.data.content = bytes(running.answer.body)


def _label(flow: http.HTTPFlow) -> str:
    return f"normalize: {flow.request.pretty_host} (flow {flow.id})"


def _gateway_status(flow: http.HTTPFlow) -> int | None:
    """Return the status that mitmproxy gives in the provider's place, if any."""
    return None if client_left(flow) else int(HTTPStatus.BAD_GATEWAY)


def _answer(flow: http.HTTPFlow, asked: Asked, settings: Settings) -> Answer:
    request = flow.request
    log = settings.log
    secrets = secrets_of(request)

    def write(record: Record) -> None:
        if log is not None:
            log.write(record, secrets)

    return Answer(
        flow=flow.id,
        host=request.pretty_host,
        path=request.path.partition("?")[0],
        model=asked.model,
        stream=asked.stream,
        observe=settings.observe,
        asked_at=request.timestamp_end or request.timestamp_start,
        write=write,
    )
