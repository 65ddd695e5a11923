"""Protocols of clients, translated to chat completions and back.

A protocol is a folder here and an entry of `PROTOCOLS`.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from .messages import MESSAGES
from .protocol import ClientProtocol, JsonObject
from .responses import RESPONSES

PROTOCOLS: tuple[ClientProtocol, ...] = (RESPONSES, MESSAGES)

_CHAT = "/chat/completions"
_THREAD = re.compile(r"/threads/[^/]+\Z", re.IGNORECASE)
"""What has messages of its own, in OpenAI's Assistants API."""


class Endpoint(NamedTuple):
    """Where requests of a protocol go.

    Attributes:
        protocol: The protocol.
        base: The path before the end that the protocol names.
        end: That end.
    """

    protocol: ClientProtocol
    base: str
    end: str

    @property
    def chat_path(self) -> str:
        """The path for chat completions beside it."""
        return self.base + _CHAT

    @property
    def own_answer(self) -> Callable[[JsonObject], JsonObject] | None:
        """What answers a request where its provider serves chat alone, if it is no chat."""
        return self.protocol.own_answers.get(self.end)


def endpoint_at(path: str) -> Endpoint | None:
    """The protocol of requests to *path*, which may have a query; None for another path."""
    asked = path.partition("?")[0].rstrip("/")
    if asked.endswith(_CHAT):  # most are
        return None
    ends = (
        (each, end)
        for each in PROTOCOLS
        for end in (each.path, *each.also, *each.own_answers)
    )
    found = (
        Endpoint(each, asked.removesuffix(end), end)
        for each, end in ends
        if asked.endswith(end) and not _THREAD.search(asked.removesuffix(end))
    )
    return next(found, None)
