"""The life of an answer: it begins with its headers and ends in one record."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from http import HTTPStatus

from mitmproxy import http

from ..chat.chunks.text_growth import ProvedGrowth
from ..mitm.client_stream import ClientStream
from ..mitm.connection_errors import client_left, gateway_status
from ..mitm.second_request import is_gone
from ..records.record_line import Entry, TextPair
from ..records.statistics import Stats
from ..text.printable import brief
from ..wire.content_encoding import decoder_for
from . import unreachable_provider
from .delivery.answer_streams import AnswerStreams
from .delivery.buffered_answer import Figures, is_slow, repair
from .delivery.stream_or_buffer import AnswerPath, path_of
from .message.request_facts import place_of
from .request.adapted_request import Adapted, adapt
from .request.native_answer import TOOL_ID, AnswerIds, restore_ids
from .source.refused_request import Retry
from .source.replacements import Replacements
from .source.second_answer import SecondAnswer, pass_on
from .source.translation import TranslationMemory
from .source.unserved_path import ChatRetry, ask_untranslated, client_for_retry, take
from .state.exchange import Exchange
from .state.running_answer import RunningAnswer
from .state.settings import Settings
from .stream.stream_rewriter import handed_over

logger = logging.getLogger(__name__)

_THREADS = 2
"""Large answers that are repaired at a time."""


class Answers:
    """Begins and ends the answer of an exchange, and changes its request before that.

    Args:
        stats: Counts each answer at its end.
        settings: Returns the settings in force for an answer.
        translations: Which requests are sent again as chat, or untranslated.

    Attributes:
        streams: Begins those that are repaired as they arrive.
    """

    def __init__(
        self,
        stats: Stats,
        settings: Callable[[Exchange], Settings],
        translations: TranslationMemory,
    ) -> None:
        self._stats = stats
        self._settings = settings
        self._translations = translations
        self._replacements = Replacements()
        self._proved = ProvedGrowth()
        self._ids = AnswerIds()
        self._aside = asyncio.Semaphore(_THREADS)
        self.streams = AnswerStreams()

    def adapt(self, exchange: Exchange) -> None:
        """Change a request, which is sent right after this, to what is accepted."""
        native, settings = exchange.native, self._settings(exchange)
        if native and not settings.observe and TOOL_ID not in settings.skipped:
            # Its provider knows the calls by the names that it gave them.
            exchange.adapted = restore_ids(exchange.flow, exchange.adapted)
        made, found = exchange.adapted, None
        if made is None or not exchange.is_workers_ai:  # else it has another form now
            try:
                found = adapt(
                    exchange.flow,
                    settings.adaptations,
                    self._replacements.learned,
                    exchange.learner,
                    observe=settings.observe,
                    sent_as=exchange.sent_as,
                )
            except Exception:
                host = brief(place_of(exchange.flow.request))
                logger.exception("normalize: a request to %s passes as it is", host)
        if made is not None and found is not None:
            found = Adapted(made.original, [*made.edits, *found.edits])
        exchange.adapted = found or made
        exchange.is_expected = exchange.is_asked

    def begin(self, exchange: Exchange) -> None:
        """Decide the path of an answer whose headers have arrived, and begin it.

        The headers are sent right after this.
        """
        response = exchange.response
        running = self._new(exchange)
        path = path_of(exchange, running)
        if path is AnswerPath.STREAMED:
            self.streams.begin(running)
        elif path is AnswerPath.PASSED:
            response.stream = response.stream or True
        else:
            running.pending = path is AnswerPath.FETCHED or exchange.has_begun

    def _new(self, exchange: Exchange) -> RunningAnswer:
        settings = self._settings(exchange)
        running = exchange.running = exchange.new_answer(settings, self._stats)
        running.know(self._proved, exchange.client)
        if running.native is not None:
            running.native.know(self._ids, exchange.client)
            return running
        adaptations = settings.adaptations
        # Behind a gate all clients have the same token: what one has got is no other's.
        if adaptations.learns and settings.parse_error_prose and not settings.observe:
            running.memory = self._replacements.learned.answers
        return running

    def put_in_events(self, exchange: Exchange, response: http.Response) -> None:
        """Let an error of the proxy's own be what follows headers that have been sent.

        Args:
            exchange: The exchange, whose provider has not answered.
            response: The error, whose body changes.
        """
        plain = decoder_for("")
        assert plain is not None
        running = exchange.new_answer(self._settings(exchange), self._stats)
        rewriter = running.stream_through(plain)
        parts = [*rewriter.read(response.raw_content or b""), *rewriter.read(b"")]
        response.data.content = b"".join(parts)
        response.status_code = HTTPStatus.OK  # as it has been sent
        # Its record is that of an answer that never arrived.
        exchange.is_expected = True

    def retry_as_chat(self, exchange: Exchange) -> Awaitable[None] | None:
        """Return an awaitable that sends the request as chat, or in another form, or None.

        As chat, if the provider does not serve its path. Await it before the headers are
        sent.

        Args:
            exchange: The exchange, whose answer's headers have arrived.
        """
        found = ChatRetry.of(exchange, self.streams, self._translations)
        return None if found is None else self._retry_as_chat(exchange, found)

    async def _retry_as_chat(self, exchange: Exchange, chat: ChatRetry) -> None:
        if not await chat.translate():
            replaced = None if exchange.instead else self.replace_answer(exchange)
            if replaced is not None:
                await replaced
            return
        self.adapt(exchange)
        running = self._new(exchange)
        second = SecondAnswer(exchange, running, chat.client, self.streams)
        await second.replace_first(
            lambda *_: partial(
                chat.retry, running=running, find_retry=self._replacements.find
            )
        )

    def retry_as_asked(self, exchange: Exchange) -> Awaitable[bool] | None:
        """Return an awaitable that sends a request untranslated, or None.

        It is for one that was translated from memory, and is refused for its path. Await it
        before the headers are sent: it tells whether the answer is another one now.

        Args:
            exchange: The exchange, whose answer's headers have arrived.
        """
        is_doubtful = self._translations.is_doubtful(exchange)
        client = client_for_retry(exchange, self.streams) if is_doubtful else None
        return None if client is None else self._retry_as_asked(exchange, client)

    async def _retry_as_asked(self, exchange: Exchange, client: ClientStream) -> bool:
        def adapt() -> None:
            if exchange.native is not None:
                self.adapt(exchange)

        if await self.streams.first_body(client) is None:
            return False
        self._translations.forget(exchange)
        reply = await ask_untranslated(exchange, adapt)
        if reply is None:
            return False
        if exchange.native is None:  # a summary of Responses, say, which nobody reads
            pass_on(exchange.flow, client, reply)
            return True
        running = self._new(exchange)
        find = self._replacements.find
        second = SecondAnswer(exchange, running, client, self.streams)
        await second.replace_first(
            lambda *_: lambda _: take(exchange, running, reply, find)
        )
        return True

    def replace_answer(self, exchange: Exchange) -> Awaitable[None] | None:
        """Return an awaitable that replaces this answer, or None.

        Await it before the headers are sent; the client then gets the replacement's
        headers.
        """
        found = SecondAnswer.of(exchange, self.streams)
        return (
            found.replace_first(self._replacements.find) if found is not None else None
        )

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
            slow = is_slow(response)
            # Nothing that refuses a stream is that large.
            as_body = slow and exchange.is_workers_ai
            is_last = as_body or running.is_last
            retry = None if is_last else self._replacements.find(exchange, running)
            if slow or retry is not None:
                running.pending = True
                return self._replace_and_repair(exchange, running, retry)
        exchange.running = None
        figures = repair(exchange, running)
        running.complete(response.status_code, figures)
        return None

    async def _replace_and_repair(
        self, exchange: Exchange, running: RunningAnswer, retry: Retry | None
    ) -> None:
        """Put another answer in the place of the first one, if need be, and repair it."""
        flow, response = exchange.flow, exchange.response
        try:
            if retry is not None and not await retry(flow):
                running.close_without_client()
                return
            running.received_status = response.status_code
            if is_slow(response):
                figures = await self._repair_in_thread(exchange, running)
                if is_gone(flow) and not running.is_over:
                    events, received, _ = figures
                    none = events, received, 0
                    running.store(running.write(None, "client-left", none))
                    return
            else:
                figures = repair(exchange, running)
            if not running.is_over:  # else it has its record
                running.complete(response.status_code, figures)
        finally:
            exchange.running = None
            running.on_end()

    async def _repair_in_thread(
        self, exchange: Exchange, running: RunningAnswer
    ) -> Figures:
        """Repair a large answer in a thread, so that no stream waits for it."""
        answer, entries = running.record, list[Entry | TextPair]()
        write = answer.write
        running.before_repair = running.copy()
        if write is not None:
            answer.write = entries.append
        async with self._aside:
            figures = await asyncio.to_thread(repair, exchange, running)
        running.before_repair = None
        if write is not None and not running.is_over:
            # The log takes them from one thread alone.
            answer.write = write
            for entry in entries:
                write(entry)
        return figures

    def broke(self, exchange: Exchange, status: int | None = None) -> None:
        """Close the record of an answer that broke off, or did not begin.

        Args:
            exchange: The exchange, whose flow has an error.
            status: The status of what the client got instead, if not mitmproxy's.
        """
        flow, running = exchange.flow, exchange.running
        before_reload = handed_over(flow.response and flow.response.stream)
        exchange.running = None
        if running is not None:
            running.broke(status)
        elif before_reload is not None:
            before_reload.on_break(flow)
        elif exchange.is_expected:
            running = exchange.new_answer(self._settings(exchange), self._stats)
            if status is None and client_left(flow):
                running.why = "the client left before an answer"
            else:
                running.why = unreachable_provider.reason(flow)
            running.close(status or gateway_status(flow), "error")

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
                running.end_without_hooks()
        if not open_ones:
            idle()

    def close_all(self, exchanges: Iterable[Exchange]) -> None:
        """Write the records of *exchanges*, which are open when mitmproxy ends."""
        for exchange in exchanges:
            if exchange.running is not None:
                exchange.running.is_over = True
            self.abandon(exchange, "mitmproxy ended")

    def abandon(self, exchange: Exchange, why: str) -> None:
        """Write the record of an answer that breaks off."""
        running, exchange.running = exchange.running, None
        if running is None:
            return
        try:
            # Nothing that a thread has repaired by now will be sent.
            (running.before_repair or running).abandon(why)
        except Exception:  # the others have theirs
            host = brief(running.record.host)
            logger.exception("normalize: %s: an answer has no record", host)
