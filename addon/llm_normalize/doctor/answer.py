"""One answer of a provider, with what was asked."""

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
        status: The HTTP status.
        content_type: The header; empty without one.
        pending: Whether it says that the answer can be fetched later.
        encoding: What was undone of the body, if anything.
        data: The body, without its content encoding and without the key.
        broke: How it broke off, as a sentence; empty where it is complete.
        wants_error: Whether OpenAI would refuse the request.
        first_ms: When the first event with data was there.
        last_ms: When the last one was.
        total_ms: When all of it was.
        notes: What else there is to say.
    """

    name: str
    body: dict[str, Any]
    status: int = 200
    content_type: str = ""
    pending: bool = False
    encoding: str = ""
    data: bytes = b""
    broke: str = ""
    wants_error: bool = False
    first_ms: float | None = None
    last_ms: float | None = None
    total_ms: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for."""
        return self.body.get("stream") is True

    @property
    def is_error(self) -> bool:
        """Whether the status says that the request failed."""
        return self.status >= HTTPStatus.BAD_REQUEST

    @property
    def request(self) -> conformance.Request:
        """What was asked, as far as the form of the answer depends on it."""
        return conformance.Request.from_body(self.body, stream=self.stream)
