"""The headers of an answer: what they say of it, and how they fit what is sent."""

from mitmproxy import http

from ...chat.endpoint import is_event_stream
from ...wire.header import header_in


def answers_events(response: http.Response) -> bool:
    """Tell whether *response* says that it is an event stream."""
    return is_event_stream(header_in(response.headers.fields, b"content-type"))


def prepare_headers(
    request: http.Request, response: http.Response, *, rename: bool = True
) -> None:
    """Make the headers fit a body whose length and encoding change as it passes.

    Args:
        request: The request, which tells what its client understands.
        response: The response, whose headers change.
        rename: Whether to call it an event stream where it says something else.
    """
    headers = response.data.headers
    # To look first is quicker than to `pop` what is not there.
    if header_in(headers.fields, b"content-encoding"):
        headers.pop("content-encoding")
    if rename and not answers_events(response):
        headers["content-type"] = "text/event-stream"
    frame(request, response)


def frame(request: http.Request, response: http.Response) -> None:
    """Make the headers say where a body ends whose length is not known."""
    headers = response.data.headers
    had_length = bool(header_in(headers.fields, b"content-length"))
    if had_length:
        headers.pop("content-length")
    asked, is_newer = request.http_version, response.is_http2 or response.is_http3
    if "HTTP/1.0" in (asked, response.http_version):
        headers.pop("transfer-encoding", None)  # it ends when the connection does
    elif asked == "HTTP/1.1" and (had_length or is_newer):
        headers["transfer-encoding"] = "chunked"
