"""Answers of a provider that is asked a second time, without a connection."""

import asyncio
from collections.abc import Callable
from typing import Any

from mitmproxy import http

from llm_normalize.mitm.second_request import Reply
from llm_normalize.wire.json_text import loads
from proxies import Proxy, response_of

JSON = [("content-type", "application/json")]


def play(proxy: Proxy, made: http.HTTPFlow) -> Any:
    """Let *made* pass the hooks for its answer, and return its response."""
    proxy.addon.responseheaders(made)
    proxy.respond(made)
    return response_of(made)


class SecondAnswers:
    """What stands in for `second_request.send`.

    Args:
        last: The answer to each request once there are no other replies.

    Attributes:
        asked: The requests so far.
        replies: What they are answered with, in order; an exception is raised.
        meanwhile: Called while an answer is awaited.
    """

    def __init__(self, last: Reply | None = None) -> None:
        self.asked: list[http.Request] = []
        self.replies: list[Reply | Exception] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self._last = last

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests."""
        return [loads(each.content or b"") for each in self.asked]

    async def send(
        self, _: http.HTTPFlow, request: http.Request, __: float, *, live: bool
    ) -> Reply:
        assert not live  # nothing is sent on before the hook for headers is over
        self.asked.append(request)
        self.meanwhile()
        await asyncio.sleep(0)
        reply = self.replies.pop(0) if self.replies else self._last
        assert reply is not None, "one request too many"
        if isinstance(reply, Exception):
            raise reply
        return reply
