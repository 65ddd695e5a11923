"""One answer that is looked at: asked for just now, or recorded."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from .. import conformance

STREAM_TYPE = "text/event-stream"
JSON_TYPE = "application/json"
PENDING_HEADER = "nvcf-reqid"


@dataclass
class Answer:
    """An answer, with what was asked.

    Attributes:
        name: What it is called on the card.
        body: The request's body.
        known: Whether that is what was asked for sure.
        stream: Whether a stream was asked for.
        status: The HTTP status.
        content_type: The header; None where nothing tells it.
        pending: Whether it says that the answer can be fetched later.
        encoding: What was undone of the body, if anything.
        data: The body, without its content encoding and without the key.
        fragment: Whether it is a part of a recording, without beginning or end.
        broke: How it broke off, as a sentence; empty where it is complete.
        wants_error: Whether OpenAI would refuse the request.
        live: Whether it was asked for just now.
        first_ms: When the first event with data was there.
        last_ms: When the last one was.
        total_ms: When all of it was.
        notes: What else there is to say.
    """

    name: str
    body: dict[str, Any]
    stream: bool
    known: bool = True
    status: int = 200
    content_type: str | None = None
    pending: bool = False
    encoding: str = ""
    data: bytes = b""
    fragment: bool = False
    broke: str = ""
    wants_error: bool = False
    live: bool = False
    first_ms: float | None = None
    last_ms: float | None = None
    total_ms: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_error(self) -> bool:
        """Whether the status says that the request failed."""
        return self.status >= HTTPStatus.BAD_REQUEST

    @property
    def request(self) -> conformance.Request:
        """What was asked, as far as the form of the answer depends on it."""
        body = self.body if self.known else None
        return conformance.Request.from_body(body, stream=self.stream)


def request_body(
    *,
    stream: bool,
    usage: bool = False,
    tools: bool = False,
    forced: bool = False,
    legacy: bool = False,
) -> dict[str, Any]:
    """Return the body of a request that asks for this."""
    body: dict[str, Any] = {}
    if stream:
        body["stream"] = True
    if usage:
        body["stream_options"] = {"include_usage": True}
    if legacy:
        body["functions"] = [WEATHER["function"]]
    elif tools or forced:
        body["tools"] = [WEATHER]
    if forced:
        body["tool_choice"] = {"type": "function", "function": {"name": "get_weather"}}
    return body


WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Return the weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
