"""A request in another protocol that is sent as chat, and what gets its answer back."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from mitmproxy import http

from ...chat.request_body import read_request
from ...protocols import Endpoint, endpoint_at
from ...protocols.messages import MESSAGES
from ...protocols.protocol import (
    AnswerTranslator,
    ChatRequest,
    Circumstances,
    ClientProtocol,
    JsonObject,
    UntranslatableError,
)
from ...protocols.responses import RESPONSES
from ...routing.keys import HEADER, OTHER_HEADER
from ...wire.json_scanner import members
from ...wire.json_text import as_object, dumps, objects_in
from ..message.message_body import content_of, put_content
from .adapted_request import RequestEdit

_NOT_CHAT = "request-not-chat"
_INPUT = b'"input"'
# https://github.com/automazeio/vibeproxy/issues/411
_OF_ANTHROPIC = (b'"input_schema"', b'"tool_use"')
_ROLES = {"user", "assistant", "system", "developer"}
_BEGUN = re.compile(r"\[[ \t\r\n]*+[^\]]")
"""A list that is not empty."""
_OF_CHAT = (
    "stream_options", "max_tokens", "max_completion_tokens", "n", "response_format",
    "reasoning_effort", "logprobs", "verbosity",
)  # fmt: skip
"""What is chat's own: it has a place in this request, and none in the protocol's."""


@dataclass(eq=False, slots=True)
class TranslatedRequest:
    """A request that is sent as chat.

    Attributes:
        protocol: What its client speaks.
        answer: Translates its answer.
        dropped: Paths of what has no place in chat.
        path: As its client sent it, with its query, like the next two.
        body: The body, encoded.
        encoding: The body's encoding, if it has one.
        key: The key in a header that chat does not have, if there is one.
    """

    protocol: ClientProtocol
    answer: AnswerTranslator
    dropped: tuple[str, ...]
    path: str
    body: bytes | None = field(repr=False)
    encoding: str | None
    key: str | None = field(default=None, repr=False)

    @classmethod
    def send(
        cls,
        request: http.Request,
        endpoint: Endpoint,
        content: bytes,
        under: Circumstances,
        model: str | None = None,
    ) -> Self:
        """Make *request* one for chat completions.

        Args:
            request: The request, none of which has been sent, or all of it.
            endpoint: Where it goes now.
            content: Its body, decoded.
            under: What its translation depends on beside that.
            model: The model that is sent, if it is another one than the body has.

        Raises:
            UntranslatableError: Chat has no place for what it asks.
        """
        found = _translation(endpoint, content, under)
        encoding = request.headers.pop("content-encoding", None)
        made = cls(
            endpoint.protocol,
            found.answer,
            found.dropped,
            request.path,
            request.raw_content,
            encoding,
        )
        _, mark, query = request.path.partition("?")
        request.path = endpoint.chat_path + mark + query
        named = {} if model is None else {"model": model}
        put_content(request, dumps({**found.body, **named}))
        made.key = key = request.headers.pop(OTHER_HEADER, None)
        if key and HEADER not in request.headers:
            request.headers[HEADER] = f"Bearer {key}"
        return made

    def restore(self, request: http.Request) -> None:
        """Let *request*, which is over, show what its client asked."""
        request.path = self.path
        request.content = self.body
        if self.encoding is not None:
            request.headers["content-encoding"] = self.encoding

    def restore_key(self, request: http.Request) -> None:
        """Put the key of *request* where its client sent it, if it is still that one."""
        if self.key and request.headers.get(HEADER) == f"Bearer {self.key}":
            del request.headers[HEADER]
        if self.key and HEADER not in request.headers:
            request.headers[OTHER_HEADER] = self.key

    def state(self) -> list[Any]:
        """Return it in types that mitmproxy saves."""
        return [self.path, self.body, self.encoding]

    @classmethod
    def of_state(cls, flow: http.HTTPFlow, state: list[Any]) -> Self | None:
        """The translation with this `state`; None if its path is not known any more."""
        path, body, encoding = state
        endpoint = endpoint_at(path)
        if endpoint is None:
            return None
        asked = http.Request.make("POST", "http://localhost/", body or b"")
        if encoding is not None:
            asked.headers["content-encoding"] = encoding
        # What it refers to is not remembered any more, and was sent.
        under = Circumstances(flow.id, endpoint.end, items=_Forgotten())
        found = _translation(endpoint, content_of(asked), under)
        return cls(endpoint.protocol, found.answer, found.dropped, path, body, encoding)


def chat_body(request: http.Request) -> bytes:
    """The chat body sent for a *request* that shows its client's own.

    Raises:
        ValueError: It is in no protocol that is known, or cannot be translated.
    """
    endpoint = endpoint_at(request.path)
    if endpoint is None:
        raise ValueError("its protocol is not known")
    under = Circumstances(end=endpoint.end)
    return dumps(_translation(endpoint, content_of(request), under).body)


class _Forgotten:
    """Items of earlier answers, of which nothing is known."""

    def find(self, item_id: str) -> JsonObject:
        """Return an item that says nothing."""
        return {"type": "reasoning", "id": item_id}

    def add(self, items: Iterable[JsonObject]) -> None:
        """Remember none."""


def _translation(
    endpoint: Endpoint, content: bytes, under: Circumstances
) -> ChatRequest:
    try:
        body = read_request(content)
    except ValueError as error:
        raise UntranslatableError(str(error)) from None
    return endpoint.protocol.translate(body, under)


def chat_of(content: bytes) -> tuple[bytes, list[RequestEdit]] | None:
    """Return the request *content* as chat, and what was changed; None if it is chat.

    Cursor's agent sends `input` and flat tools to the path of chat completions, or, for a
    model whose name has `claude` in it, Anthropic's tools and blocks, and reads the answer as
    chat. So the request alone is translated.

    Raises:
        UntranslatableError: Chat has no place for what it asks.
    """
    is_responses = content.find(_INPUT) >= 0 and _has_input(content)
    if not is_responses and all(content.find(each) < 0 for each in _OF_ANTHROPIC):
        return None
    try:
        asked = read_request(content)
    except ValueError:
        return None
    if is_responses and (asked.get("input") is None or asked.get("messages")):
        return None
    if not is_responses and not _is_of_anthropic(asked):
        return None
    choice, given = asked.get("tool_choice"), asked
    if not is_responses and as_object(choice).get("type") == "function":  # chat's own
        name = as_object(as_object(choice).get("function")).get("name")
        given = {**asked, "tool_choice": {"type": "tool", "name": name}}
    found = (RESPONSES if is_responses else MESSAGES).translate(given)
    made = {key: each for key, each in found.body.items() if key != "stream_options"}
    keys = _OF_CHAT if is_responses else found.dropped
    own = {key: asked[key] for key in keys if asked.get(key) is not None}
    made = {**own, **made}
    if not is_responses and isinstance(choice, str):
        made["tool_choice"] = choice
    dropped = [path for path in found.dropped if path not in made]
    changed = [
        key for key in asked if key not in dropped and asked[key] != made.get(key)
    ]
    edits: list[RequestEdit] = [(_NOT_CHAT, "dropped", path) for path in dropped]
    edits += [(_NOT_CHAT, "changed", key) for key in changed]
    return dumps(made), edits


def _is_of_anthropic(asked: JsonObject) -> bool:
    """Tell whether tools or calls of a request are Anthropic's, and nothing in it is chat's."""
    turns, tools = (objects_in(asked.get(key)) for key in ("messages", "tools"))
    parts = (part for each in turns for part in objects_in(each.get("content")))
    if not tools and all(part.get("type") != "tool_use" for part in parts):
        return False
    flat = ("function" not in each and "input_schema" in each for each in tools)
    return all(flat) and all(
        each.get("role") in _ROLES and "tool_calls" not in each for each in turns
    )


def _has_input(content: bytes) -> bool:
    """Tell whether a request may have `input` and no `messages`, without reading it all.

    Many a tool has a parameter of that name.
    """
    text, found = content.decode(errors="replace"), False
    for key, at in members(text):
        if key == "messages" and _BEGUN.match(text, at):
            return False
        found = found or key == "input"
    return found
