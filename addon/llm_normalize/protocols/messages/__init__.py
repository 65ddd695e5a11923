"""Anthropic's Messages, translated to chat completions and back."""

from collections.abc import Callable, Mapping
from typing import override

from ..call_ids import CallIds
from ..protocol import ChatRequest, ClientProtocol, JsonObject, make_id
from .errors import LAST_RESORT, error_body
from .model_list import model_list
from .request import chat_request
from .stream import MessagesAnswer
from .token_count import count_tokens

__all__ = ["MESSAGES", "count_tokens", "model_list"]


class Messages(ClientProtocol):
    """What clients of Anthropic's API speak: Claude Code, its SDKs, and many more."""

    name = "messages"
    path = "/messages"
    owners = ("api.anthropic.com",)
    last_resort = LAST_RESORT

    @override
    def translate(
        self, body: JsonObject, headers: Mapping[str, str], exchange: str = ""
    ) -> ChatRequest:
        request = chat_request(body)
        answer = MessagesAnswer(
            f"msg_{make_id(exchange)}",
            request.body.get("model"),
            CallIds(request.body["messages"]),
        )
        return ChatRequest(request.body, answer, request.dropped)

    @override
    def _error_body(self, status: int, error: JsonObject) -> JsonObject:
        return error_body(status, error)

    @override
    def own_answers(self) -> Mapping[str, Callable[[JsonObject], JsonObject]]:
        return {f"{self.path}/count_tokens": count_tokens}

    @override
    def model_list(
        self, headers: Mapping[str, str]
    ) -> Callable[[JsonObject], JsonObject] | None:
        return model_list if "anthropic-version" in headers else None


MESSAGES: ClientProtocol = Messages()
