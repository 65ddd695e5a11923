"""Retries a refused request without the parameters the provider rejected."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, field

from mitmproxy import http

from ...mitm.second_request import (
    ArrivingBody,
    Reply,
    UpstreamError,
    drop,
    is_gone,
    replace_response,
    request_with,
    send,
)
from ...request.adaptation import NO_MEMORY, Body, Memory
from ...request.refusals.dropped_parameters import FORMS, Change, apply, changes_for
from ...request.refusals.learned_rejections import Learned
from ...request.refusals.refusal_parser import LARGE, refusal_of
from ...routing.pace import Slot
from ...routing.rate_limit_headers import pause_of
from ...text.echo import Echo
from ...wire.content_encoding import beginning
from ...wire.json_text import dumps
from ..message.message_body import put_content, request_body
from ..message.request_facts import quoted, secrets_of
from ..request.adapted_request import RequestEdit, body_of, key_of
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from .polling import TIMEOUT, unless_gone

logger = logging.getLogger(__name__)

MAX_RETRIES = 3
"""How often one request is retried without a parameter, or in another form."""

_REFUSED = (400, 422)
"""Statuses of answers that name a parameter."""
STATUSES = (*_REFUSED, 404, 500)
"""Statuses of answers after which a changed request may be sent."""
type Retry = Callable[[http.HTTPFlow], Awaitable[bool]]
"""Replaces a flow's first answer; returns False if the client disconnected."""


def retry_after_refusal(
    exchange: Exchange, running: RunningAnswer, learned: Learned
) -> Retry | None:
    """Return a function that sends a changed request; None if there is nothing to change.

    Args:
        exchange: The exchange, whose answer has arrived.
        running: The answer; if it is only observed, it records what would be changed.
        learned: Records the changes that helped.
    """
    settings = running.settings
    flow, client = exchange.flow, exchange.learner
    refused = (
        RefusedRequest.of(
            flow,
            running.received,
            words=settings.parse_error_prose,
            forms=settings.adaptations.forms_for(exchange.sent_as),
            memory=learned.answers.of(client, flow.request.host, flow.request.port),
            is_chat=running.native is None,
        )
        if settings.adaptations.learns
        else None
    )
    if refused is None:
        return None
    running.record.refusal = refused.words_left
    if not refused.changes:
        return None
    if running.settings.observe:
        running.record.request.extend(refused.change())
        return None

    async def retry(flow: http.HTTPFlow) -> bool:
        try:
            return await refused.retry(
                flow, learned, client, live=running.is_live, slot=running.slot
            )
        finally:
            running.live_body = refused.live_body
            running.record.request.extend(refused.edits)
            running.record.refusal = refused.words_left

    running.pending = True
    return retry


@dataclass
class RefusedRequest:
    """A request that its provider refused, and the changes that may help.

    Attributes:
        response: What refuses it; a later answer takes its place.
        body: The request.
        changes: The changes to try next.
        echo: Finds what a refusal repeats of it.
        words: Whether the text of a refusal is parsed.
        forms: The names of the forms that it may be given.
        memory: What is remembered of earlier answers.
        is_chat: Whether it asks for chat completions.
        words_left: What the last refusal says, if it asks for nothing that is known.
        edits: The changes made so far, each of them answered.
        live_body: The rest of the last answer, as it arrives.
    """

    response: http.Response
    body: Body = field(repr=False)
    changes: list[Change]
    echo: Echo = field(repr=False)
    words: bool = True
    forms: Container[str] = FORMS
    memory: Memory = NO_MEMORY
    is_chat: bool = True
    words_left: str = ""
    edits: list[RequestEdit] = field(default_factory=list)
    live_body: ArrivingBody | None = None

    @classmethod
    def of(
        cls,
        flow: http.HTTPFlow,
        response: http.Response,
        *,
        words: bool = True,
        forms: Container[str] = FORMS,
        memory: Memory = NO_MEMORY,
        is_chat: bool = True,
    ) -> "RefusedRequest | None":
        """Return the request of *flow*; None if *response* does not refuse it.

        Also None if it is not known, or mitmproxy has not sent it: a replayed answer stays.
        """
        request = flow.request
        is_read = response.status_code in STATUSES
        if not is_read or not flow.server_conn.timestamp_start:
            return None
        body = body_of(request)
        if body is None:
            return None
        echo = Echo(request_body(request), secrets_of(request))
        made = cls(response, body, [], echo, words, forms, memory, is_chat)
        made.changes = made._changes()
        return made

    def _changes(self, tried: Sequence[Change] = ()) -> list[Change]:
        """Return the changes to try, given those already *tried*."""
        status, self.words_left = self.response.status_code, ""
        if status not in STATUSES:
            return []
        refusal = refusal_of(_beginning(self.response), self.echo, words=self.words)
        found = changes_for(
            refusal,
            self.body,
            tried,
            self.forms,
            self.memory,
            is_chat=self.is_chat,
        )
        found = [each for each in found if status in _REFUSED or each.is_form]
        self.words_left = "" if found else refusal.words
        return found

    def change(self) -> list[RequestEdit]:
        """Change the request, and return what was changed."""
        return [
            (each.by, *edit)
            for each in self.changes
            for edit in apply(each, self.body, self.memory)
        ]

    async def retry(
        self,
        flow: http.HTTPFlow,
        learned: Learned,
        client: bytes,
        *,
        live: bool = False,
        slot: Slot | None = None,
    ) -> bool:
        """Replace the refusal by the answer to the changed request.

        If none arrives, the refusal stays.

        Args:
            flow: The flow.
            learned: Records the changes that helped.
            client: Identifies the client.
            live: Whether the body of the last answer may still be arriving: `live_body`.
            slot: Its place where requests are paced.

        Returns:
            False if the client disconnected.
        """
        request = flow.request
        key, tried, times = key_of(request, self.body, client), list[Change](), 0
        while self.changes:
            times += not all(each.is_free for each in self.changes)
            edits = self.change()
            reply = await send_retry(flow, dumps(self.body), live=live, slot=slot)
            if reply is None:
                return False
            if not isinstance(reply, Reply):
                break
            put_content(request, dumps(self.body))
            replace_response(self.response, reply)
            self.live_body = reply.live_body
            self.edits += edits
            tried += self.changes
            self.changes = self._changes(tried)
            # What fails for another reason, a 500 say, tells nothing about the change: it is
            # learned with the next refusal, or requests would be changed for nothing.
            if self.changes or 200 <= reply.status < 300:  # noqa: PLR2004
                learned.add(key, tried)
            if times >= MAX_RETRIES:
                self.changes = [each for each in self.changes if each.is_free]
        return True


def _beginning(response: http.Response) -> bytes:
    """Return the beginning of an answer's body; nothing if it cannot be decoded."""
    encoding = response.headers.get("content-encoding", "")
    return beginning(response.raw_content or b"", encoding, LARGE)


async def send_retry(
    flow: http.HTTPFlow,
    body: bytes,
    *,
    live: bool = False,
    slot: Slot | None = None,
    wait: float | None = None,
) -> Reply | str | None:
    """Return the reply to the request of *flow* with another *body*, or why there is none.

    Args:
        flow: The flow.
        body: What is sent.
        live: Whether the body of the reply may still be arriving.
        slot: Its place where requests are paced: it waits for it.
        wait: For how many seconds at most; None for any time.

    Returns:
        None if the client disconnected.
    """
    is_turn = slot is None or await _comes_within(slot, wait)
    if is_gone(flow):
        return None
    if not is_turn:
        reason = f"its turn does not come within {wait:.0f} seconds"
        logger.info("normalize: not asked again: %s", reason)
        return reason
    reply = await unless_gone(
        _answer(flow, body, live=live),
        lambda: is_gone(flow),
        time.monotonic() + TIMEOUT,
    )
    if is_gone(flow):
        await drop(reply)
        return None
    if isinstance(reply, Reply):
        if slot is not None:
            slot.answered(pause_of(reply.status, reply.headers))
    else:
        reply = reply or f"no answer within {TIMEOUT} seconds"
        logger.warning("normalize: cannot ask again: %s", quoted(flow, reply))
    return reply


async def _comes_within(slot: Slot, seconds: float | None) -> bool:
    """Tell whether the turn of *slot* comes in time, or its client leaves by then."""
    turn = slot.again()
    await asyncio.wait({turn}, timeout=seconds)
    if not turn.done():
        slot.end()
    return turn.done()


async def _answer(flow: http.HTTPFlow, body: bytes, *, live: bool) -> Reply | str:
    """Return the reply to the request of *flow* with another *body*, or why there is none."""
    try:
        return await send(flow, request_with(flow, body), TIMEOUT, live=live)
    except UpstreamError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a bug; its text may hold the key
        return type(error).__name__
