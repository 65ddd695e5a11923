"""Which answer takes the place of the provider's first one: here it is decided.

| the first answer | the answer in its place | by |
| --- | --- | --- |
| 202 with an id | the result, which is fetched with the client's key | `pending_result` |
| 429, 503 | to the same request after a while, or to a changed one then | `busy_provider` |
| of a model that does not stream | to the request for one body | `workers_ai_run` |
| of a request for a summary, which is too long itself | to the request with half of it | `shorter_conversation` |
| 400, 422 that names what is refused | to the request without it | `refused_request` |
| 400, 404, 422, 500 that asks for another form | to the request in that form | `refused_request` |
| 404, 405 … of a path that is not served | to a chat request | `unserved_path` |
| 404 of chat, which was asked from memory | to the request as its client sent it | `unserved_path` |

`second_answer` puts it there before headers are sent; of an answer that was requested as one
body, `answer_lifecycle` does.
"""

import functools

from mitmproxy import http

from ...request.refusals.learned_rejections import Learned
from ..delivery.stream_or_buffer import is_fetched
from ..state.exchange import Exchange
from ..state.running_answer import RunningAnswer
from .busy_provider import retry_when_busy
from .pending_result import fetch
from .refused_request import Retry, retry_after_refusal
from .shorter_conversation import retry_shorter
from .workers_ai_run import retry_without_stream


class Replacements:
    """Finds what replaces a complete first answer.

    Attributes:
        learned: What providers have refused: requests are changed before they are sent.
    """

    def __init__(self) -> None:
        self.learned = Learned()

    def find(self, exchange: Exchange, running: RunningAnswer) -> Retry | None:
        """Find what puts another answer in the place of the first one; None if it stays."""
        if is_fetched(running.received, running):
            return functools.partial(fetch, running=running)
        if busy := retry_when_busy(exchange.flow, running):
            return functools.partial(self._retry_when_free, exchange, running, busy)
        return self._find_changed(exchange, running)

    async def _retry_when_free(
        self,
        exchange: Exchange,
        running: RunningAnswer,
        busy: Retry,
        flow: http.HTTPFlow,
    ) -> bool:
        """Wait for a busy provider, which may refuse the request for what is in it then."""
        if not await busy(flow):
            return False
        if is_fetched(running.received, running):
            return await fetch(flow, running)
        changed = self._find_changed(exchange, running)
        return changed is None or await changed(flow)

    def _find_changed(self, exchange: Exchange, running: RunningAnswer) -> Retry | None:
        """Find what sends a changed request, if the answer asks for one."""
        retry = (
            retry_without_stream(exchange.flow, running)
            if exchange.is_workers_ai
            else None
        )
        return (
            retry
            or retry_shorter(exchange, running)
            or retry_after_refusal(exchange, running, self.learned)
        )
