"""OpenAI's Responses protocol, for providers that serve chat completions only."""

from collections.abc import Iterable

from ...wire.json_text import as_object, as_string
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
from .compaction import PATH, CompactionAnswer, retained
from .native.response import TERMINAL
from .request import RequestTranslation
from .response_object import LAST_RESORT, frame_of
from .stream import Asked, ResponsesAnswer


def count_tokens(body: JsonObject) -> JsonObject:
    """Return an estimate of the tokens that a request's input has.

    Raises:
        UntranslatableError: Chat has no place for what it asks.
    """
    tokens = tokens_in(RequestTranslation(body).body)
    return {"object": "response.input_tokens", "input_tokens": tokens}


class Responses(ClientProtocol):
    """What Codex and the SDKs of agents speak."""

    name = "responses"
    path = "/responses"
    also = (f"{path}{PATH}",)
    own_answers = {f"{path}/input_tokens": count_tokens}  # noqa: RUF012
    owners = ("*.api.openai.com", "api.openai.com")
    last_resort = {"error": LAST_RESORT}  # noqa: RUF012

    def translate(self, body: JsonObject, under: Circumstances = NONE) -> ChatRequest:
        """Return a request as chat."""
        made = RequestTranslation(body, under)
        asked = Asked(
            make_id(under.exchange),
            frame_of(body),
            as_string(body.get("model")),
            made.tools.names,
            CallIds.of(made.body["messages"]),
            Figures(made.body),
            under.items if body.get("store", True) else None,
        )
        answer = ResponsesAnswer(asked)
        if made.is_summary:
            is_path = under.end.endswith(PATH)
            answer = CompactionAnswer(asked, retained(body) if is_path else None)
        return ChatRequest(made.body, answer, tuple(made.dropped))

    def _error_body(self, status: int, error: JsonObject) -> JsonObject:
        # It is chat's own.
        return {"error": error}

    def body_of(self, events: Iterable[JsonObject]) -> JsonObject | None:
        """Return the answer, or the error, that the events of a right stream say."""
        for each in events:
            if each.get("type") in TERMINAL:
                return as_object(each.get("response"))
            if each.get("type") == "error":
                return {"error": each.get("error") or each}
        return None


RESPONSES = Responses()

__all__ = ["RESPONSES"]
