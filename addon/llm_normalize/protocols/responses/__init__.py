"""OpenAI's Responses protocol, for providers that serve chat completions only."""

from collections.abc import Mapping

from ..call_ids import CallIds
from ..json_values import as_string
from ..protocol import ChatRequest, ClientProtocol, JsonObject, make_id
from .request import RequestTranslation
from .response_object import LAST_RESORT, frame_of
from .stream import ResponsesAnswer


class Responses(ClientProtocol):
    """What Codex and the SDKs of agents speak."""

    name = "responses"
    path = "/responses"
    owners = ("*.api.openai.com", "api.openai.com")
    last_resort = {"error": LAST_RESORT}  # noqa: RUF012

    def translate(
        self, body: JsonObject, headers: Mapping[str, str], exchange: str = ""
    ) -> ChatRequest:
        """Return a request as chat."""
        made = RequestTranslation(body)
        model = body.get("model")
        named = as_string(model)
        answer = ResponsesAnswer(
            make_id(exchange),
            frame_of(body),
            named,
            made.tools,
            CallIds(made.body["messages"]),
        )
        return ChatRequest(made.body, answer, tuple(made.dropped))

    def _error_body(self, status: int, error: JsonObject) -> JsonObject:
        # It is chat's own.
        return {"error": error}


RESPONSES = Responses()

__all__ = ["RESPONSES"]
