"""Retries a refused request without the parameters the provider rejected."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from mitmproxy import http

from ...mitm.second_request import Reply, drop, is_gone, request_with, send
from ...request.adaptation import Body, Memory
from ...request.refusals.dropped_parameters import Change, apply, changes_for
from ...request.refusals.learned_rejections import Learned
from ...request.refusals.refusal_parser import LARGE, refusal_of
from ...routing.pace import Slot, pause_of
from ...text.echo import Echo
from ...wire.content_encoding import beginning
from ...wire.json_text import dumps
from ..message.message_body import put_content, request_body
from ..message.request_facts import quoted, secrets_of
from ..request.adapted_request import RequestEdit, body_of, key_of
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from .pending_result import TIMEOUT, reply_or_reason, unless_gone

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
    request, settings = exchange.flow.request, running.settings
    is_read = running.received.status_code in STATUSES and settings.adaptations.learns
    # A replayed answer stays: mitmproxy has not sent the request.
    is_sent = exchange.flow.server_conn.timestamp_start
    body = body_of(request) if is_read and is_sent else None
    if body is None:
        return None
    echo = Echo(request_body(request), secrets_of(request))
    refused = RefusedRequest(exchange, running, learned, body, echo)
    refused.read()
    if not refused.changes:
        return None
    if settings.observe:
        running.record.request += tuple(refused.change())
        return None
    running.pending = True
    return refused.retry


@dataclass
class RefusedRequest:
    """A request that its provider refused, and the changes that may help.

    Attributes:
        exchange: The exchange.
        running: Its answer, which refuses it; a later one takes its place.
        learned: Records the changes that helped.
        body: The request.
        echo: Finds what a refusal repeats of it.
        changes: The changes to try next.
    """

    exchange: Exchange
    running: RunningAnswer
    learned: Learned
    body: Body = field(repr=False)
    echo: Echo = field(repr=False)
    changes: list[Change] = field(default_factory=list)

    @property
    def _memory(self) -> Memory:
        request, answers = self.exchange.flow.request, self.learned.answers
        return answers.of(self.exchange.learner, request.host, request.port)

    def read(self, tried: Sequence[Change] = ()) -> None:
        """Find the changes to try, given those already *tried*.

        What the refusal says is recorded if it asks for nothing that is known.
        """
        running, settings = self.running, self.running.settings
        response, running.record.refusal = running.received, ""
        status, self.changes = response.status_code, []
        if status not in STATUSES:
            return
        words = settings.parse_error_prose
        refusal = refusal_of(_beginning(response), self.echo, words=words)
        found = changes_for(
            refusal,
            self.body,
            tried,
            settings.adaptations.forms_for(self.exchange.sent_as),
            self._memory,
            is_chat=running.native is None,
        )
        self.changes = [each for each in found if status in _REFUSED or each.is_form]
        running.record.refusal = "" if self.changes else refusal.words

    def change(self) -> list[RequestEdit]:
        """Change the request, and return what was changed."""
        return [
            (each.by, *edit)
            for each in self.changes
            for edit in apply(each, self.body, self._memory)
        ]

    async def retry(self, flow: http.HTTPFlow) -> bool:
        """Replace the refusal by the answer to the changed request.

        If none arrives, the refusal stays.

        Returns:
            False if the client disconnected.
        """
        request, running = flow.request, self.running
        key = key_of(request, self.body, self.exchange.learner)
        tried, times = list[Change](), 0
        while self.changes:
            times += not all(each.is_free for each in self.changes)
            edits = self.change()
            has_reply = await ask_again(running, dumps(self.body))
            if has_reply is None:
                return False
            if not has_reply:
                break
            put_content(request, dumps(self.body))
            running.record.request += tuple(edits)
            tried += self.changes
            self.read(tried)
            # What fails for another reason, a 500 say, tells nothing about the change: it is
            # learned with the next refusal, or requests would be changed for nothing.
            if self.changes or 200 <= running.received.status_code < 300:  # noqa: PLR2004
                self.learned.add(key, (each for each in tried if each.is_remembered))
            if times >= MAX_RETRIES:
                self.changes = [each for each in self.changes if each.is_free]
        return True


def _beginning(response: http.Response) -> bytes:
    """Return the beginning of an answer's body; nothing if it cannot be decoded."""
    encoding = response.headers.get("content-encoding", "")
    return beginning(response.raw_content or b"", encoding, LARGE)


async def ask_again(
    running: RunningAnswer, body: bytes, wait: float | None = None
) -> bool | None:
    """Put the reply to a request with another *body* in the place of its answer.

    Args:
        running: The answer.
        body: What is sent.
        wait: For how many seconds its turn is waited for; None for any time.

    Returns:
        Whether there is a reply; None if the client disconnected.
    """
    live, slot = running.is_live, running.slot
    reply = await send_retry(running.flow, body, live=live, slot=slot, wait=wait)
    if isinstance(reply, Reply):
        running.take(reply)
        return True
    return None if reply is None else False


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
        reply_or_reason(
            lambda: send(flow, request_with(flow, body), TIMEOUT, live=live)
        ),
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
