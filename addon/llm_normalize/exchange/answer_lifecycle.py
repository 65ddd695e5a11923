"""The life of an answer: it begins with its headers and ends in one record."""

import asyncio
import contextlib
import functools
import logging
import sys
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
)
from http import HTTPStatus
from typing import Any

from mitmproxy import http
from mitmproxy.utils import asyncio_utils

from ..records.record_line import Entry, Known
from ..records.statistics import Stats
from ..repair.outcome import EventRecord
from ..request.learned_rejections import Learned
from ..text.printable import brief
from ..wire.content_encoding import decoder_for
from . import busy_provider, retry
from .adapted_request import Adapted, adapt
from .answer_path import Path, path_of
from .buffered_answer import Figures, is_slow, repair
from .client_stream import Outlet, slow_down
from .disconnect import client_left, gateway_status
from .exchange import Exchange
from .message_body import content_of
from .native_provider import retry_without_stream
from .pending_result import PENDING, fetch
from .response_headers import frame
from .retry import Later, repeat_of
from .running_answer import CORRUPT, RunningAnswer, Settings
from .second_request import is_gone
from .stream_clock import StreamClock, send_rest
from .stream_rewriter import Rewriter, Turn

logger = logging.getLogger(__name__)

_MOST = 1024 * 1024
"""Bytes of an answer that may be replaced before it is sent."""
_REPEATED = (*retry.STATUSES, *busy_provider.STATUSES)
"""Status of answers after which another request may be sent."""
_WAITED_FOR = (*busy_provider.STATUSES, HTTPStatus.ACCEPTED)
"""Status of first answers after which the stream may begin before there is another one."""
_THREADS = 2
"""Large answers that are repaired at a time."""


class Answers:
    """Begins and ends the answer of an exchange, and changes its request before that.

    Args:
        stats: Counts each answer at its end.
    """

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._learned = Learned()
        self._aside = asyncio.Semaphore(_THREADS)
        self._turn = Turn(_soon)
        self._is_over = False
        self._has_clock = True

    def adapt(self, exchange: Exchange, settings: Settings) -> None:
        """Change a request, which is sent right after this, to what is accepted.

        Args:
            exchange: The exchange.
            settings: What counts for it.
        """
        made, found = exchange.adapted, None
        if made is None or not exchange.is_native:  # else it has another form now
            found = adapt(
                exchange.flow,
                settings.adaptations,
                self._learned,
                exchange.client,
                wanted=settings.adapted,
                observe=settings.observe,
            )
        if made is not None and found is not None:
            found = Adapted(made.original, [*made.edits, *found.edits])
        exchange.adapted = found or made
        exchange.is_expected = True

    def begin(self, exchange: Exchange, settings: Settings) -> None:
        """Take an answer whose headers have come; they are sent right after this."""
        response = exchange.flow.response
        assert response is not None
        running = exchange.running = exchange.new_answer(settings)
        path = path_of(exchange, running)
        running.pending = path is Path.FETCHED
        if path is Path.PASSED:
            response.stream = response.stream or True
        elif path is Path.STREAMED:
            self._stream(exchange.flow, response, running)

    def _stream(
        self, flow: http.HTTPFlow, response: http.Response, running: RunningAnswer
    ) -> None:
        """Have an answer repaired as it arrives."""
        decoder = decoder_for(response.headers.get("content-encoding", ""))
        assert decoder is not None
        rewriter = running.stream_through(decoder, self._turn)
        rewriter.on_growth = running.grew
        rewriter.on_much = functools.partial(self._slow_down, flow)
        if not running.settings.observe:
            running.prepare_headers(response)
        response.stream = rewriter
        # What is read while the hook is awaited would all be handed over at once.
        rewriter.slow_down()
        running.status = response.status_code
        self._start_clock(flow, rewriter, running)

    def _start_clock(
        self, flow: http.HTTPFlow, rewriter: Rewriter, running: RunningAnswer
    ) -> None:
        """Have sent what waits too long, unless nobody waits: there is no event loop."""
        settings = running.settings
        keepalive = 0 if settings.observe else settings.keepalive
        with contextlib.suppress(RuntimeError):
            running.clock = StreamClock(flow, rewriter, keepalive, self._no_clock)

    def _no_clock(self) -> None:
        """Say once that this mitmproxy has no way to send by the clock."""
        if self._has_clock:
            self._has_clock = False
            logger.warning(
                "normalize: this mitmproxy does not let an addon send while nothing is "
                "received: a part of an answer may wait for the next event, and a silent "
                "stream gets no newline (%r)",
                sys.exception(),
            )

    def second(self, exchange: Exchange) -> Awaitable[None] | None:
        """Return what has to be awaited before the headers are sent, if anything has.

        They are those of another answer then, which takes the place of the first one and
        is sent as it arrives.
        """
        running, response = exchange.running, exchange.flow.response
        if running is None or response is None or response.stream:
            return None
        if running.settings.observe or not running.asked.stream:
            return None
        if response.raw_content is not None:
            return None  # an addon has made it: nothing more of it arrives
        if not running.pending and response.status_code not in _REPEATED:
            return None
        try:
            outlet = Outlet.of(exchange.flow)
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self._no_clock()
            return None
        return self._second(exchange, running, outlet) if outlet is not None else None

    async def _second(
        self, exchange: Exchange, running: RunningAnswer, outlet: Outlet
    ) -> None:
        """Put another answer in the place of the first one, if need be. Never raises."""
        response = exchange.flow.response
        assert response is not None
        try:
            first = await outlet.body(_MOST)
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self._no_clock()
            return
        if first is None:
            return  # mitmproxy collects it
        response.data.content = first
        running.is_last = running.is_live = True
        is_fetched, running.pending = running.pending, True
        takes = False
        try:
            later = (
                functools.partial(fetch, running=running)
                if is_fetched
                else self._later(exchange, running)
            )
            if later is not None:
                waiting = asyncio.ensure_future(later(exchange.flow))
                if await self._commits(running, response, waiting):
                    self._commit(exchange, running, outlet, waiting)
                    return
                takes = await self._has_come(exchange, running, waiting)
        except Exception:
            logger.exception("%s: the first answer stays", running.label)
        finally:
            running.pending = False
        if not takes:
            response.data.content = None  # mitmproxy has it
        elif not self._is_over:
            if is_fetched:
                _add_fetched(running, first, response)
            self._take(exchange, running, outlet)

    async def _commits(
        self,
        running: RunningAnswer,
        response: http.Response,
        waiting: asyncio.Future[bool],
    ) -> bool:
        """Tell whether the second answer takes so long that the stream begins before it."""
        if response.status_code not in _WAITED_FOR:
            return False
        await asyncio.wait({waiting}, timeout=running.settings.keepalive or None)
        return not waiting.done()

    async def _has_come(
        self,
        exchange: Exchange,
        running: RunningAnswer,
        waiting: asyncio.Future[bool],
    ) -> bool:
        """Wait for an answer; tell whether there is one, and not only no client any more."""
        if await waiting:
            response = exchange.flow.response
            assert response is not None
            running.received_status = response.status_code
            return True
        if exchange.running is running:
            exchange.running = None
        running.keep(running.close(self._stats, None, "client-left"))
        running.on_end()
        return False

    def _take(self, exchange: Exchange, running: RunningAnswer, outlet: Outlet) -> None:
        """Let mitmproxy receive an answer that has taken the place of the first one."""
        flow = exchange.flow
        response = flow.response
        assert response is not None
        is_reloaded = exchange.running is not running  # no hook is called for it
        path = path_of(exchange, running)
        if path is Path.STREAMED:
            self._stream(flow, response, running)
            if is_reloaded:
                self._end_without_hooks(running)
        elif path is Path.PASSED:
            frame(flow.request, response)
            response.stream = response.stream or True
        elif is_reloaded:
            self._end(response, running, repair(exchange, running))
            running.on_end()
        parts = running.rest or _parts(response.raw_content or b"")
        response.data.content = None
        self._receive(flow, outlet, parts, running)

    def _commit(
        self,
        exchange: Exchange,
        running: RunningAnswer,
        outlet: Outlet,
        waiting: asyncio.Future[bool],
    ) -> None:
        """Begin a stream whose provider is still busy: the client gets signs of life.

        What is its answer in the end has no status of its own any more, and no encoding.
        """
        flow, is_reloaded = exchange.flow, exchange.running is not running
        first = flow.response
        assert first is not None
        is_fetched = first.status_code == HTTPStatus.ACCEPTED
        before = first.raw_content or b""
        begun = flow.response = first.copy()
        begun.data.content = None
        begun.status_code, begun.reason = int(HTTPStatus.OK), HTTPStatus.OK.phrase
        begun.headers["content-type"] = "text/event-stream"
        for name in ("retry-after", "retry-after-ms", "content-encoding"):
            begun.headers.pop(name, None)

        async def parts() -> AsyncIterator[bytes]:
            if not await waiting:
                return
            if is_fetched:
                _add_fetched(running, before, first)
            if running.rest is None:
                yield content_of(first)
                return
            decoder = decoder_for(first.headers.get("content-encoding", ""))
            if decoder is None:
                raise ValueError("its encoding is not undone")
            async for part in running.rest:
                for decoded in decoder.feed(part):
                    yield decoded

        self._stream(flow, begun, running)
        if is_reloaded:
            self._end_without_hooks(running)
        self._receive(flow, outlet, parts(), running)

    def _receive(
        self,
        flow: http.HTTPFlow,
        outlet: Outlet,
        parts: AsyncIterable[bytes],
        running: RunningAnswer,
    ) -> None:
        outlet.forget_body()

        async def receive() -> None:
            try:
                await outlet.receive(parts)
            finally:
                if running.rest is not None:
                    await running.rest.close()

        asyncio_utils.create_task(
            receive(),
            name="second answer of a provider",
            keep_ref=True,
            client=flow.client_conn.peername,
        )

    def _slow_down(self, flow: http.HTTPFlow) -> None:
        """Let others have their turn before more of an answer is read."""
        number = self._turn.begin()
        slow_down(flow.client_conn, lambda: self._turn.number != number)

    def end(self, exchange: Exchange) -> Awaitable[None] | None:
        """Repair an answer that is one body, or close the record of a stream.

        Returns:
            What has to be awaited, of an answer that is not ready yet.
        """
        exchange.is_expected = False  # another addon may have answered
        running, response = exchange.running, exchange.flow.response
        if running is None or response is None:
            exchange.running = None
            return None
        if not response.stream:  # else it has been sent already
            if running.pending:
                return self._fetch(exchange, running, fetch)
            slow = is_slow(response)
            # Nothing that refuses a stream is that large.
            as_body = slow and exchange.is_native
            is_last = as_body or running.is_last
            later = None if is_last else self._later(exchange, running)
            if slow or later is not None:
                running.pending = True
                return self._fetch(exchange, running, later)
        exchange.running = None
        self._end(response, running, repair(exchange, running))
        return None

    def _end(
        self, response: http.Response, running: RunningAnswer, figures: Figures
    ) -> None:
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

    def _later(self, exchange: Exchange, running: RunningAnswer) -> Later | None:
        """Return what puts another answer in the place of the first one, if need be."""
        if busy := busy_provider.retry_when_busy(exchange.flow, running):
            return busy
        later = (
            retry_without_stream(exchange.flow, running) if exchange.is_native else None
        )
        return later or repeat_of(exchange, running, self._learned)

    async def _fetch(
        self, exchange: Exchange, running: RunningAnswer, later: Later | None
    ) -> None:
        """Put another answer in the place of the first one, if need be, and repair it."""
        flow = exchange.flow
        response = flow.response
        assert response is not None
        try:
            before = response.raw_content or b""
            if later is not None and not await later(flow):
                running.keep(running.close(self._stats, None, "client-left"))
                return
            after = [response.raw_content or b""]
            running.received_status = response.status_code
            if later is fetch:
                running.record.add_event(EventRecord(0, before, after, [PENDING]))
            if is_slow(response):
                figures = await self._repair_aside(exchange, running)
                if is_gone(flow) and not self._is_over:
                    events, received, _ = figures
                    none = events, received, 0
                    running.keep(running.write(self._stats, None, "client-left", none))
                    return
            else:
                figures = repair(exchange, running)
            if not self._is_over:  # else it has its record
                self._end(response, running, figures)
        finally:
            exchange.running = None
            running.on_end()

    async def _repair_aside(
        self, exchange: Exchange, running: RunningAnswer
    ) -> Figures:
        """Repair a large answer in a thread, so that no stream waits for it."""
        answer, entries = running.record, list[Entry | Known]()
        write = answer.write
        running.before_repair = running.copy()
        if write is not None:
            answer.write = entries.append
        async with self._aside:
            figures = await asyncio.to_thread(repair, exchange, running)
        running.before_repair = None
        if write is not None and not self._is_over:
            # The log takes them from one thread alone.
            answer.write = write
            for entry in entries:
                write(entry)
        return figures

    def broke(
        self,
        exchange: Exchange,
        settings: Callable[[], Settings],
        status: int | None = None,
    ) -> None:
        """Close the record of an answer that broke off, or did not begin.

        Args:
            exchange: The exchange, whose flow has an error.
            settings: Returns what would have counted for an answer that did not begin.
            status: The status of what the client got instead, if not mitmproxy's.
        """
        flow, running = exchange.flow, exchange.running
        stream = flow.response.stream if flow.response else None
        before_reload = getattr(stream, "on_break", None)
        exchange.running = None
        if running is not None:
            running.broke(self._stats, status)
        elif before_reload is not None:
            before_reload(flow)
        elif exchange.is_expected:
            running = exchange.new_answer(settings())
            if status is None and client_left(flow):
                running.why = "the client left before an answer"
            running.close(self._stats, status or gateway_status(flow), "error")

    def hand_over(
        self, exchanges: Iterable[Exchange], idle: Callable[[], None]
    ) -> None:
        """Let open streams go on without hooks, as at a reload of the addon.

        Args:
            exchanges: Those that are open.
            idle: Called when the last of them has ended, at once if there is none.
        """
        open_ones = []
        for exchange in exchanges:
            running, exchange.running = exchange.running, None
            if running is not None and (running.rewriter or running.pending):
                open_ones.append(running)
        remaining = len(open_ones)

        def ended() -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining:
                idle()

        for running in open_ones:
            running.on_end = ended
            if not running.pending:
                self._end_without_hooks(running)
        if not open_ones:
            idle()

    def _end_without_hooks(self, running: RunningAnswer) -> None:
        """Close the record of a stream when it ends: no hook of this addon is called."""
        rewriter = running.rewriter
        assert rewriter is not None

        def ended() -> None:
            running.keep(running.close(self._stats, running.status, "complete"))
            running.on_end()

        def broke(_: object) -> None:
            running.broke(self._stats)
            running.on_end()

        rewriter.on_end, rewriter.on_break = ended, broke

    def rest_of(
        self, exchange: Exchange
    ) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Return what sends what waits in a stream that breaks off, if anything does."""
        rewriter = _rewriter_of(exchange)
        if rewriter is None or not rewriter.holds:
            return None
        return functools.partial(self._send_rest, exchange.flow, rewriter)

    def send_rests(self, exchanges: Iterable[Exchange]) -> None:
        """Send what waits in open streams: mitmproxy ends, and waits for nothing.

        Its tasks begin at once (mitmproxy/master.py, `set_eager_task_factory`).
        """
        for send in filter(None, map(self.rest_of, exchanges)):
            with contextlib.suppress(RuntimeError):  # there is no loop: nobody waits
                asyncio.get_running_loop()
                asyncio_utils.create_task(
                    send(), name="what waits at the end", keep_ref=True
                )

    async def _send_rest(self, flow: http.HTTPFlow, rewriter: Rewriter) -> None:
        try:
            await send_rest(flow, rewriter)
        except Exception:  # noqa: BLE001 - of mitmproxy's inner parts one may be gone
            self._no_clock()

    def close_all(self, exchanges: Iterable[Exchange]) -> None:
        """Write the records of *exchanges*, which are open when mitmproxy ends."""
        self._is_over = True
        for exchange in exchanges:
            self.abandon(exchange, "mitmproxy ended")

    def abandon(self, exchange: Exchange, why: str) -> None:
        """Write the record of an answer that breaks off."""
        running, exchange.running = exchange.running, None
        if running is None:
            return
        try:
            # Nothing that a thread has repaired by now will be sent.
            self._abandon(running.before_repair or running, why)
        except Exception:  # the others have theirs
            host = brief(running.record.host)
            logger.exception("normalize: %s: an answer has no record", host)

    def _abandon(self, running: RunningAnswer, why: str) -> None:
        if running.rewriter is not None:
            running.rewriter.pipeline.abandon()
        running.why = why
        record = running.close(self._stats, running.status, "upstream-broke")
        running.keep(record)


def _add_fetched(
    running: RunningAnswer, before: bytes, response: http.Response
) -> None:
    """Record that *response* has the place of an answer that promised it."""
    after = [response.raw_content] if response.raw_content else []
    record = EventRecord(0, before, after, [PENDING])
    record.moved = True  # though neither may have a byte of its own
    running.record.add_event(record)


async def _parts(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _rewriter_of(exchange: Exchange) -> Rewriter | None:
    """Return what the stream of *exchange* passes; it may be of an addon since reloaded."""
    if exchange.running is not None:
        return exchange.running.rewriter
    response = exchange.flow.response
    stream: Any = response.stream if response is not None else None
    return stream if hasattr(stream, "on_break") and hasattr(stream, "holds") else None


def _soon(act: Callable[[], None]) -> None:
    """Call *act* in the next turn of the event loop."""
    try:
        asyncio.get_running_loop().call_soon(act)
    except RuntimeError:  # there is none, so nobody waits
        act()
