"""A request whose path its provider does not serve: it is sent as chat, at once.

The first answer decides whether that is tried, and the second one whether it was right: if
the provider does not serve chat completions there either, the first answer stays, and
nothing is remembered. An error that says more than that is the client's: NIM's "Function
'…': Not found" is about the model.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

from mitmproxy import http

from ...mitm.client_stream import ClientStream
from ...mitm.second_request import Reply, drop
from ...protocols import Endpoint, endpoint_at
from ...protocols.answer_stream import object_in
from ...protocols.protocol import UntranslatableError
from ...request.refusals.missing_path import STATUSES
from ...routing.model_names import MAPPED, model_in, with_model
from ...text.printable import brief
from ..delivery.answer_streams import AnswerStreams
from ..message.message_body import content_of, put_content
from ..message.request_facts import place_of
from ..request.adapted_request import Adapted
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from .refused_request import send_retry
from .second_answer import FindRetry, UnusableReplacementError
from .translation import TranslationMemory, means_missing, refusal

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ChatRetry:
    """One such request; see `of`.

    Attributes:
        exchange: The exchange, whose first answer's headers have arrived.
        first: That answer.
        endpoint: Where its request went.
        client: Where the answer is sent.
        streams: Begins its stream.
        translations: Remembers what has helped.
    """

    exchange: Exchange
    first: RunningAnswer | None
    endpoint: Endpoint
    client: ClientStream
    streams: AnswerStreams
    translations: TranslationMemory

    @classmethod
    def of(
        cls, exchange: Exchange, streams: AnswerStreams, translations: TranslationMemory
    ) -> Self | None:
        """The retry of a request as chat; None if its answer stays."""
        if not translations.is_refused(exchange):
            return None
        endpoint = endpoint_at(exchange.flow.request.path)
        if endpoint is None or endpoint.own_answer is not None:
            return None
        client = client_for_retry(exchange, streams)
        if client is None:
            return None
        first = exchange.running
        return cls(exchange, first, endpoint, client, streams, translations)

    async def translate(self) -> bool:
        """Make the request chat if its path is missing; tell whether it is to be sent."""
        exchange = self.exchange
        request, response = exchange.flow.request, exchange.flow.response
        first = await self.streams.first_body(self.client)
        if first is None or response is None:
            return False
        encoding = response.headers.get("content-encoding", "")
        if not means_missing(request, response.status_code, first, encoding):
            return False
        try:
            self.translations.translate(exchange, self.endpoint)
        except UntranslatableError as error:
            exchange.instead = refusal(error)
        except Exception:
            place = brief(place_of(request))
            logger.exception("normalize: a request to %s is not translated", place)
        return exchange.translated is not None

    async def retry(
        self, flow: http.HTTPFlow, running: RunningAnswer, find_retry: FindRetry
    ) -> bool:
        """Replace the first answer by that to the chat request, see `Retry`.

        Args:
            flow: The flow.
            running: The answer.
            find_retry: Called with that answer: it may ask for another one in slot.
        """
        exchange = self.exchange
        content = content_of(flow.request)
        reply = await send_retry(
            flow, content, live=running.is_live, slot=exchange.slot
        )
        if reply is None:
            return False
        if not isinstance(reply, Reply) or (
            means_missing(flow.request, reply.status, reply.body)
            and not _has_words(reply)
        ):
            self._undo()
            raise UnusableReplacementError
        is_answered = await take(exchange, running, reply, find_retry)
        # One that refuses says nothing about its paths, nor may the first answer have.
        status = running.received.status_code
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            self.translations.learn(exchange, self.endpoint)
        return is_answered

    def _undo(self) -> None:
        exchange = self.exchange
        assert exchange.translated is not None
        exchange.translated.restore(exchange.flow.request)
        exchange.translated = exchange.adapted = None
        exchange.running = self.first


def client_for_retry(exchange: Exchange, streams: AnswerStreams) -> ClientStream | None:
    """Return where another answer can be sent; None if the first one stays."""
    response = exchange.flow.response
    if response is None or response.stream:
        return None
    if response.raw_content is not None:  # an addon has made it
        return None
    return streams.client_of(exchange)


async def take(
    exchange: Exchange, running: RunningAnswer, reply: Reply, find_retry: FindRetry
) -> bool:
    """Put a reply in the place of the first answer, or what takes its place in turn.

    Args:
        exchange: The exchange.
        running: The answer.
        reply: The reply.
        find_retry: Called with that answer: it may ask for another one.

    Returns:
        False if the client disconnected.
    """
    running.take(reply)
    again = find_retry(exchange, running)
    return again is None or await again(exchange.flow)


def _has_words(reply: Reply) -> bool:
    """Tell whether *reply* is an error of an API: for a missing path that says so, too."""
    is_plain = reply.status in (HTTPStatus.OK, HTTPStatus.METHOD_NOT_ALLOWED)
    return not is_plain and bool(object_in(reply.body))


async def ask_untranslated(
    exchange: Exchange, adapt: Callable[[], None]
) -> Reply | None:
    """Send a request untranslated; return the answer, unless the first one stays.

    It was translated from memory, and chat's path has a 404 for it. Memory is wrong then,
    or does not hold for this request. So it is sent once untranslated, and its answer is
    taken, unless that says the same.

    Args:
        exchange: The exchange, whose first answer is complete.
        adapt: Changes the request to what is accepted in its own protocol.
    """
    flow, translated = exchange.flow, exchange.translated
    request = flow.request
    assert translated is not None
    path, content, before = request.path, content_of(request), exchange.adapted
    # Not a copy of the headers: it would be saved with the proxy's key.
    headers, fields = request.headers, request.headers.fields
    translated.restore(request)
    if exchange.key is None:
        translated.restore_key(request)
    exchange.translated = None
    exchange.adapted = _name_model(exchange, content)
    adapt()
    reply = await send_retry(flow, content_of(request), live=True, slot=exchange.slot)
    if not isinstance(reply, Reply) or reply.status in STATUSES:
        await drop(reply)
        headers.fields = fields  # of a flow that is over meanwhile, nobody's
        request.path = path
        put_content(request, content)
        exchange.translated, exchange.adapted = translated, before
        return None
    return reply


def _name_model(exchange: Exchange, chat: bytes) -> Adapted | None:
    """Set the model that is sent, as it is in the request as *chat*, if another is asked."""
    request, before = exchange.flow.request, exchange.adapted
    sent = model_in(chat) if exchange.mapped_model is not None else None
    if sent is None or before is None:
        return None
    content = content_of(request)
    request.headers.pop("content-encoding", None)
    put_content(request, with_model(content, sent))
    return Adapted(content, [each for each in before.edits if each[0] == MAPPED])
