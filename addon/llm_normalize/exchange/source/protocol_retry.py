"""A refused request in its client's own protocol: sent again in the form that is asked for.

It is for requests that are not translated, to providers that serve their path. Their answers
pass as they come; so does the second one.
"""

import logging

from ...mitm.client_stream import ClientStream
from ...request.refusals.learned_rejections import Learned
from ...text.printable import brief
from ..message.message_body import request_body
from ..message.request_facts import place_of
from ..request.adapted_request import Adapted
from ..state.exchange import Exchange
from ..state.settings import Settings
from .retry import RefusedRequest
from .second_answer import pass_on

logger = logging.getLogger(__name__)


async def retry_in_protocol(
    exchange: Exchange,
    client: ClientStream,
    first: bytes,
    settings: Settings,
    learned: Learned,
) -> None:
    """Send a changed request, if the first answer asks for one. Never raises.

    Args:
        exchange: The exchange, whose first answer has arrived.
        client: Where the answer is sent.
        first: The body of the first answer.
        settings: What counts for the answer.
        learned: Records the changes that helped.
    """
    try:
        await _retry(exchange, client, first, settings, learned)
    except Exception:
        place = brief(place_of(exchange.flow.request))
        logger.exception("normalize: %s: the first answer stays", place)


async def _retry(
    exchange: Exchange,
    client: ClientStream,
    first: bytes,
    settings: Settings,
    learned: Learned,
) -> None:
    flow, made = exchange.flow, exchange.adapted
    response, original = flow.response, request_body(flow.request)
    assert response is not None
    if not settings.adaptations.learns or original is None:
        return
    response.data.content = first
    refused = RefusedRequest.of(
        flow,
        response,
        words=settings.parse_error_prose,
        forms=settings.adaptations.forms_for(exchange.sent_as),
        is_chat=False,
    )
    if refused is None or not refused.changes:
        exchange.refusal = refused.words_left if refused is not None else ""
        response.data.content = None  # mitmproxy has it
        return
    is_there = await refused.retry(
        flow, learned, exchange.learner, live=True, slot=exchange.slot
    )
    if not is_there or response.data.content is first:  # there was no other
        response.data.content = None
        return
    exchange.refusal = refused.words_left
    edits = [*(made.edits if made else ()), *refused.edits]
    exchange.adapted = Adapted(made.original if made else original, edits)
    pass_on(flow, client, refused.live_body)
