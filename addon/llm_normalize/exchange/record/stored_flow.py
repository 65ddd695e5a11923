"""A flow that is over, with what was received and sent: for commands that rerun it."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from mitmproxy import http

from ...chat.endpoint import is_chat_request
from ...chat.state.asked import Asked
from ...records.flow_metadata import read_metadata
from ...records.snapshot import unpacked
from ...repair.engine.translated_output import TRANSLATED
from ..message.message_body import content_of, request_body
from ..message.request_facts import asked_of, place_of, secrets_of
from ..request.native_answer import NativeAnswer, native_endpoint
from ..request.translated_request import chat_body

_GOOD = range(200, 300)


@dataclass(frozen=True, slots=True)
class Stored:
    """One answer.

    Attributes:
        host: The host that was asked, with its port unless it is the usual one.
        asked: What the request asked.
        status: The HTTP status as the client got it.
        received: What the provider sent, decoded.
        sent: What the client got.
        is_stream: Whether it passed event by event.
        is_complete: Whether all of it is there, to its end.
        is_observed: Whether it was only watched, and passed unchanged.
        is_translated: Whether what the client got is in another protocol.
        native: What reads it, if its provider speaks its client's protocol.
        fixes: How often each fix has changed it; None if the addon never saw it.
        secrets: Strings of the request that must not be written anywhere.
    """

    host: str
    asked: Asked
    status: int
    received: bytes
    sent: bytes
    is_stream: bool
    is_complete: bool
    is_observed: bool
    is_translated: bool
    native: NativeAnswer | None
    fixes: dict[str, int] | None
    secrets: tuple[str, ...] = field(repr=False)


def stored(
    flow: http.HTTPFlow, *, strict: bool = False, skipped: Collection[str] = ()
) -> Stored:
    """Return the answer of *flow*, live or loaded from a file.

    Args:
        flow: The flow; one that the addon has never seen passed unchanged.
        strict: Whether only fields that OpenAI defines are wanted.
        skipped: The names of the fixes that are off.

    Raises:
        ValueError: It has none that can be looked at; the message says why.
    """
    request, response = flow.request, flow.response
    metadata = read_metadata(flow.metadata, is_live=bool(flow.live)) or {}
    is_translated = bool(metadata.get("protocol"))
    endpoint = None if is_translated else native_endpoint(request)
    is_chat = is_chat_request(request.method, request.path)
    if not (is_chat or is_translated or endpoint is not None):
        raise ValueError("it asks for no chat completion")
    if response is None or response.raw_content is None:
        raise ValueError("no answer is stored")
    sent = content_of(response)
    if metadata.get("end") == "running":
        raise ValueError("it is still running")
    packed = metadata.get("received")
    if metadata.get("fixes") and packed is None:
        raise ValueError("the original answer is not stored")
    received = unpacked(packed) if packed else sent
    body = chat_body(request) if is_translated else None
    model = metadata.get("mapped_model")
    asked = asked_of(flow, strict=strict, body=body, mapped_model=model)
    # The request may have asked for it before it was changed.
    asked = replace(asked, usage=asked.usage or metadata.get("usage") is True)
    status = metadata.get("received_status") or response.status_code
    is_stream = asked.stream and status in _GOOD
    is_complete = (
        not metadata.get("is_cut") and metadata.get("end", "complete") == "complete"
    )
    if not (is_stream or is_complete):
        raise ValueError("it is too long, or broke off")
    native = None
    if endpoint is not None:
        asked_body = request_body(request)
        native = NativeAnswer(endpoint.protocol, asked_body, flow.id, skipped, asked)
    return Stored(
        host=place_of(request),
        asked=asked,
        status=status,
        received=received,
        sent=sent,
        is_stream=is_stream,
        is_complete=is_complete,
        is_observed=bool(metadata.get("observe")),
        is_translated=is_translated,
        native=native,
        fixes={
            str(name): int(count)
            for name, count in metadata["fixes"]
            if name != TRANSLATED
        }
        if metadata
        else None,
        secrets=secrets_of(request),
    )
