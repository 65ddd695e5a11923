"""Anthropic's Messages, translated to chat completions and back."""

from collections.abc import Iterable
from typing import override

from ...wire.json_text import Json, as_list
from ..calls import CallIds
from ..protocol import (
    NONE,
    ChatRequest,
    Circumstances,
    ClientProtocol,
    JsonObject,
    make_id,
)
from ..token_count import Figures, tokens_in
from .answer_form import Asked, message_in
from .errors import LAST_RESORT, error_body, is_error
from .request import chat_request
from .stream import MessagesAnswer


def count_tokens(body: JsonObject) -> JsonObject:
    """Return an estimate of the tokens that a request's input has."""
    return {"input_tokens": tokens_in(body)}


class Messages(ClientProtocol):
    """What clients of Anthropic's API speak: Claude Code, its SDKs, and many more."""

    name = "messages"
    path = "/messages"
    owners = ("api.anthropic.com",)
    last_resort = LAST_RESORT
    error_fix = "message-error-foreign"
    own_answers = {f"{path}/count_tokens": count_tokens}  # noqa: RUF012

    @override
    def is_error(self, value: Json) -> bool:
        return is_error(value)

    @override
    def translate(self, body: JsonObject, under: Circumstances = NONE) -> ChatRequest:
        chat, dropped, tools = chat_request(body, by_template=under.by_template)
        asked = Asked(
            f"msg_{make_id(under.exchange)}",
            body.get("model"),
            as_list(body.get("stop_sequences")),
            tools,
            CallIds.of(chat["messages"]),
            Figures(chat),
        )
        return ChatRequest(chat, MessagesAnswer(asked), dropped)

    @override
    def _error_body(self, status: int, error: JsonObject) -> JsonObject:
        return error_body(status, error)

    @override
    def body_of(self, events: Iterable[JsonObject]) -> JsonObject | None:
        return message_in(events)


MESSAGES: ClientProtocol = Messages()
