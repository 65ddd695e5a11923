"""The answers on their way: each begins with its headers and ends in one record."""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable

from mitmproxy import http

from ..records.record_line import Entry, Known
from ..records.statistics import Stats
from ..repair.outcome import Step
from ..repair.pipeline import Pipeline
from ..request.learned_rejections import Learned
from ..routing.routes import is_native
from ..text.printable import brief
from ..wire.content_encoding import Decoder, decoder_for
from ..wire.event_boundary import EVENT
from ..wire.sse import LIMIT
from .adapting import Adapted, adapt, client_of
from .exchange import CORRUPT, Running, Settings
from .flows import (
    answers_events,
    break_off,
    client_left,
    content_of,
    gateway_status,
    place_of,
    prepare_headers,
    quoted,
)
from .native_provider import is_answer, whole_of
from .pending_result import PENDING, fetch, is_pending
from .retry import Later, repeat_of
from .second_request import is_gone
from .sending import slow_down
from .stream_rewriter import Rewriter, Turn
from .whole_body import Figures, is_slow, repair_whole

logger = logging.getLogger(__name__)

_THREADS = 2
"""Large answers that are repaired at a time."""
_WHOLE = 40_000 * EVENT  # what is looked at of a stream that is there as a whole


class Answers:
    """The answers on their way.

    Args:
        stats: Counts each answer at its end.
    """

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._running: dict[str, Running] = {}
        # What was changed in requests that have no answer yet.
        self._expected: dict[str, Adapted | None] = {}
        self._learned = Learned()
        self._aside = asyncio.Semaphore(_THREADS)
        self._turn = Turn(_soon)
        self._is_over = False

    def expect(self, flow: http.HTTPFlow) -> None:
        """Take note of a request, whose answer may never come."""
        self._expected[flow.id] = None
        client_of(flow)  # a key of the proxy's may take the place of the client's

    def adapt(
        self, flow: http.HTTPFlow, settings: Settings, made: Adapted | None = None
    ) -> None:
        """Change a request, which leaves right after this, to what is accepted.

        Args:
            flow: The flow.
            settings: What counts for it.
            made: What was changed in it already.
        """
        observe, found = settings.observe, None
        if made is None or not is_native(flow):  # else it has another form now
            found = adapt(flow, settings.adaptations, self._learned, observe=observe)
        if made is not None and found is not None:
            found = Adapted(made.original, [*made.edits, *found.edits])
        self._expected[flow.id] = found or made

    def begin(self, flow: http.HTTPFlow, settings: Settings) -> None:
        """Take an answer whose headers have come; they leave right after this."""
        response = flow.response
        assert response is not None
        adapted = self._expected.pop(flow.id, None)
        running = self._running[flow.id] = Running.of(flow, settings, adapted)
        if settings.applies(PENDING) and is_pending(response):
            running.pending = True
            return
        if not running.asked.stream or not _is_good(response):
            return
        if is_native(flow) and not answers_events(response):
            return  # it may have to be asked for anew
        host = brief(running.answer.host)
        if callable(response.stream):
            logger.warning(
                "normalize: another addon streams %s; it stays as it is", host
            )
            return
        encoding = response.headers.get("content-encoding", "")
        decoder = decoder_for(encoding)
        if decoder is None:
            logger.warning(
                "normalize: %s answers in an encoding that is not undone (%s); "
                "it stays as it is",
                host,
                quoted(flow, encoding),
            )
            response.stream = True
            return
        rewriter = _rewriter(flow, running, decoder, self._turn)
        running.rewriter = rewriter
        rewriter.on_growth = running.grew
        rewriter.on_much = functools.partial(self._slow_down, flow)
        if not settings.observe:
            _prepare(flow, response, running)
        response.stream = rewriter
        # What is read while the hook is awaited would all be handed over at once.
        rewriter.slow_down()
        running.status = response.status_code

    def _slow_down(self, flow: http.HTTPFlow) -> None:
        """Let others have their turn before more of an answer is read."""
        number = self._turn.begin()
        slow_down(flow.client_conn, lambda: self._turn.number != number)

    def end(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Repair an answer in one piece, or close the record of a stream.

        Returns:
            What has to be awaited, of an answer that is not ready yet.
        """
        self._expected.pop(flow.id, None)  # another addon may have answered
        running = self._running.get(flow.id)
        if running is None or flow.response is None:
            self._running.pop(flow.id, None)
            return None
        if not flow.response.stream:  # else it has left already
            if running.pending:
                return self._fetch(flow, running, fetch)
            slow = is_slow(flow.response)
            # Nothing that refuses a stream is that large.
            whole = slow and is_native(flow)
            later = None if whole else self._later(flow, running)
            if slow or later is not None:
                running.pending = True
                return self._fetch(flow, running, later)
        del self._running[flow.id]
        self._end(flow.response, running, _repair(flow, flow.response, running))
        return None

    def _end(self, response: http.Response, running: Running, figures: Figures) -> None:
        rewriter = running.rewriter
        if rewriter is None:
            status = response.status_code
            running.keep(running.write(self._stats, status, "complete", figures))
            return
        if rewriter.given_up:
            rewriter.pipeline.abandon()
        end = "upstream-broke" if rewriter.given_up else "complete"
        running.why = CORRUPT if rewriter.given_up else ""
        record = running.close(self._stats, response.status_code, end)
        running.keep(record)

    def _later(self, flow: http.HTTPFlow, running: Running) -> Later | None:
        """Return what puts another answer in the place of the first one, if need be."""
        later = whole_of(flow, running) if is_native(flow) else None
        return later or repeat_of(flow, running, self._learned)

    async def _fetch(
        self, flow: http.HTTPFlow, running: Running, later: Later | None
    ) -> None:
        """Put another answer in the place of the first one, if need be, and repair it."""
        response = flow.response
        assert response is not None
        try:
            before = response.raw_content or b""
            if later is not None and not await later(flow):
                running.keep(running.close(self._stats, None, "client-left"))
                return
            after = [response.raw_content or b""]
            running.came_status = response.status_code
            if later is fetch:
                running.answer.step(Step(0, before, after, [PENDING]))
            if is_slow(response):
                figures = await self._repair_aside(flow, response, running)
                if is_gone(flow) and not self._is_over:
                    events, came, _ = figures
                    none = events, came, 0
                    running.keep(running.write(self._stats, None, "client-left", none))
                    return
            else:
                figures = _repair(flow, response, running)
            if not self._is_over:  # else it has its record
                self._end(response, running, figures)
        finally:
            self._running.pop(flow.id, None)
            running.on_end()

    async def _repair_aside(
        self, flow: http.HTTPFlow, response: http.Response, running: Running
    ) -> Figures:
        """Repair a large answer in a thread, so that no stream waits for it."""
        answer, entries = running.answer, list[Entry | Known]()
        write = answer.write
        running.before_repair = running.copy()
        if write is not None:
            answer.write = entries.append
        async with self._aside:
            figures = await asyncio.to_thread(_repair, flow, response, running)
        running.before_repair = None
        if write is not None and not self._is_over:
            # The log takes them from one thread alone.
            answer.write = write
            for entry in entries:
                write(entry)
        return figures

    def broke(
        self,
        flow: http.HTTPFlow,
        settings: Callable[[], Settings],
        status: int | None = None,
    ) -> None:
        """Close the record of an answer that broke off, or did not begin.

        Args:
            flow: The flow, with its error.
            settings: Returns what would have counted for an answer that did not begin.
            status: The status of what the client got instead, if not mitmproxy's.
        """
        running = self._running.pop(flow.id, None)
        stream = flow.response.stream if flow.response else None
        before_reload = getattr(stream, "on_break", None)
        if running is not None:
            running.broke(self._stats, status)
        elif before_reload is not None:
            before_reload(flow)
        elif flow.id in self._expected:
            adapted = self._expected.pop(flow.id)
            running = Running.of(flow, settings(), adapted)
            if status is None and client_left(flow):
                running.why = "the client left before an answer"
            running.close(self._stats, status or gateway_status(flow), "error")

    def refresh(self, flow: http.HTTPFlow) -> None:
        """Let *flow* show all that has left so far, if it is on its way."""
        running = self._running.get(flow.id)
        if running is not None and running.rewriter is not None:
            running.show()

    def hand_over(self, idle: Callable[[], None]) -> None:
        """Let open streams go on without hooks, as at a reload of the addon.

        Args:
            idle: Called when the last of them has ended, at once if there is none.
        """
        open_ones = [
            each for each in self._running.values() if each.rewriter or each.pending
        ]
        self._running.clear()
        left = len(open_ones)

        def ended() -> None:
            nonlocal left
            left -= 1
            if not left:
                idle()

        def stream_ended(running: Running) -> None:
            running.keep(running.close(self._stats, running.status, "complete"))
            ended()

        def stream_broke(running: Running, _: object) -> None:
            running.broke(self._stats)
            ended()

        for running in open_ones:
            running.on_end = ended
            if running.rewriter and not running.pending:
                running.rewriter.on_end = functools.partial(stream_ended, running)
                running.rewriter.on_break = functools.partial(stream_broke, running)
        if not open_ones:
            idle()

    def close_all(self) -> None:
        """Write the records of what is open when mitmproxy ends."""
        self._is_over = True
        for each in self._running.values():
            try:
                # Nothing that a thread has repaired by now will leave.
                self._close(each.before_repair or each)
            except Exception:  # the others have theirs
                host = brief(each.answer.host)
                logger.exception("normalize: %s: an answer has no record", host)
        self._running.clear()

    def _close(self, running: Running) -> None:
        if running.rewriter is not None:
            running.rewriter.pipeline.abandon()
        running.why = "mitmproxy ended"
        record = running.close(self._stats, running.status, "upstream-broke")
        running.keep(record)


def _is_good(response: http.Response) -> bool:
    return 200 <= response.status_code < 300  # noqa: PLR2004


def _repair(flow: http.HTTPFlow, response: http.Response, running: Running) -> Figures:
    """Repair an answer whose body is complete, and return its figures."""
    if not (flow.request.is_http2 or flow.request.is_http3):
        # mitmproxy cannot send them by HTTP/1, and would fail at them.
        response.trailers = None
    if running.rewriter is None and not response.stream:
        _stream(flow, response, running)
    rewriter = running.rewriter
    if rewriter is None:
        return repair_whole(response, running, _label(flow))
    if not rewriter.bytes_in and response.raw_content:
        # Made by another addon, or a server replay: it never passed the rewriter.
        # A large one is in a thread, where no stream waits.
        rewriter.turn = Turn(most=_WHOLE)
        rewriter.on_much = rewriter.on_growth = lambda: None  # all of it has come
        rewriter.pipeline.largest_body = LIMIT
        made = rewriter(response.raw_content) + rewriter(b"")
        response.data.content = b"".join(made)
    return running.figures()


def _stream(flow: http.HTTPFlow, response: http.Response, running: Running) -> None:
    """Turn an answer whose body is complete into a stream, if one was asked."""
    if not (running.asked.stream and _is_good(response)):
        return
    if is_native(flow) and not is_answer(response):
        return
    with contextlib.suppress(ValueError):
        response.data.content = content_of(response)
        running.rewriter = _rewriter(flow, running, Decoder())
        _prepare(flow, response, running)


def _rewriter(
    flow: http.HTTPFlow, running: Running, decoder: Decoder, turn: Turn | None = None
) -> Rewriter:
    settings, label = running.settings, _label(flow)
    return Rewriter(
        Pipeline(
            running.asked,
            settings.fixes,
            running.answer.step,
            label,
            running.answer.count,
        ),
        decoder,
        repair=not settings.observe,
        give_up=lambda: break_off(flow),
        label=label,
        kept=running.kept,
        turn=turn,
    )


def _soon(act: Callable[[], None]) -> None:
    """Call *act* in the next turn of the event loop."""
    try:
        asyncio.get_running_loop().call_soon(act)
    except RuntimeError:  # there is none, so nobody waits
        act()


def _prepare(flow: http.HTTPFlow, response: http.Response, running: Running) -> None:
    rename = running.settings.applies("content-type-wrong")
    prepare_headers(flow.request, response, rename=rename)


def _label(flow: http.HTTPFlow) -> str:
    return f"normalize: {brief(place_of(flow.request))} (flow {flow.id})"
