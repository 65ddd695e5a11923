import pytest

from llm_normalize.exchange.message.response_headers import prepare_headers
from proxies import SSE, chat_flow, headers_of, response_of


def prepared(
    headers: dict[str, str], client: str = "HTTP/1.1", server: str = "HTTP/1.1"
) -> dict[str, str]:
    made = chat_flow(headers=headers)
    made.request.http_version = client
    response_of(made).http_version = server
    prepare_headers(made.request, response_of(made))
    return headers_of(made)


@pytest.mark.parametrize(
    ("client", "server", "before", "after"),
    [
        ("HTTP/1.1", "HTTP/1.1", {"content-length": "9"}, "chunked"),
        ("HTTP/1.1", "HTTP/1.1", {"transfer-encoding": "chunked"}, "chunked"),
        ("HTTP/1.1", "HTTP/1.1", {}, None),  # ends with its connection
        ("HTTP/1.1", "HTTP/2.0", {}, "chunked"),
        ("HTTP/1.1", "HTTP/2.0", {"content-length": "9"}, "chunked"),
        ("HTTP/1.1", "HTTP/3", {}, "chunked"),
        ("HTTP/1.1", "HTTP/1.0", {}, None),
        # A 1.0 answer cannot be chunked (RFC 9112, section 6.1).
        ("HTTP/1.1", "HTTP/1.0", {"content-length": "9"}, None),
        ("HTTP/1.0", "HTTP/1.1", {"transfer-encoding": "chunked"}, None),
        ("HTTP/1.0", "HTTP/1.1", {"content-length": "9"}, None),
        ("HTTP/2.0", "HTTP/2.0", {"content-length": "9"}, None),
        ("HTTP/2.0", "HTTP/1.1", {"content-length": "9"}, None),
    ],
)
def test_a_stream_is_framed_for_its_client(
    client: str, server: str, before: dict[str, str], after: str | None
) -> None:
    framing = {"transfer-encoding": after} if after else {}
    headers = {"content-type": SSE, "x": "y", **before}
    expected = {"content-type": SSE, "x": "y", **framing}
    assert prepared(headers, client, server) == expected


@pytest.mark.parametrize(
    "kind", ["text/plain; charset=utf-8", "text/html", "application/json", ""]
)
def test_what_is_streamed_is_sent_as_an_event_stream(kind: str) -> None:
    headers = {"content-type": kind} if kind else {"x": "y"}
    assert prepared(headers)["content-type"] == SSE
