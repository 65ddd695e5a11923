"""The requests that a provider is asked: few, small, and each for one thing."""

from dataclasses import dataclass
from typing import Any

from _doctor_answer import request_body

_TOKENS = 64
_COUNT = "Count from one to ten in words."
_CALL = "What is the weather in Lisbon? Call the tool."


@dataclass(frozen=True)
class Request:
    """One request.

    Attributes:
        name: What it is called on the card.
        body: Its body.
        wants_error: Whether OpenAI would refuse it.
    """

    name: str
    body: dict[str, Any]
    wants_error: bool = False


def requests(model: str, names: list[str], limit: str = "max_tokens") -> list[Request]:
    """Return the requests of these *names*, in order.

    Args:
        model: The model to ask.
        names: Which requests.
        limit: The parameter that bounds the answer.
    """
    made = [
        Request("plain", request_body(stream=False)),
        Request("stream", request_body(stream=True)),
        Request("usage", request_body(stream=True, usage=True)),
        Request("tools", request_body(stream=True, tools=True)),
        Request("forced-tool", request_body(stream=True, forced=True)),
        Request("bad-model", {"model": "no-such-model"}, wants_error=True),
        Request(
            "bad-parameter", {"stream": True, "temperature": "hot"}, wants_error=True
        ),
    ]
    return [_whole(each, model, limit) for each in made if each.name in names]


def _whole(request: Request, model: str, limit: str) -> Request:
    words = _CALL if "tools" in request.body else _COUNT
    common = {
        "model": model,
        "messages": [{"role": "user", "content": words}],
        limit: _TOKENS,
    }
    return Request(request.name, {**common, **request.body}, request.wants_error)
