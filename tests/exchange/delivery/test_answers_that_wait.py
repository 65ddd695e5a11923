from typing import Any

import pytest

from llm_normalize import conformance
from llm_normalize.wire.json_text import dumps, loads
from llm_normalize.wire.limits import MAX_BODY
from proxies import BAD, Proxy, chat_flow, response_of

ASKED = {"model": "m", "stream": True}
REFUSED = dumps({"message": "No permission invoke API", "success": False})


def play(proxy: Proxy, body: bytes, kind: str = "application/json", **more: Any) -> Any:
    """Let an answer whose length is known pass all hooks; return it."""
    headers = {"content-type": kind, "content-length": str(len(body))}
    made = chat_flow(request=ASKED, headers=headers | more)
    response = response_of(made)
    proxy.addon.responseheaders(made)
    response.raw_content = body
    if not response.stream:
        proxy.respond(made)
    return response


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (REFUSED, "application/json", 403, "No permission invoke API"),
        (b'{"error":{"message":"Busy","code":503}}', "text/plain", 503, "Busy"),
        (b'{"error":"rate limit"}', "application/problem+json", 429, "rate limit"),
        (b"<html><title>Log in</title></html>", "text/html", 502, "Log in"),
        (b"<!doctype html>\n<p>Down", "application/json", 502, "Down"),
        (b"upstream connect error\n", "text/plain", 502, "upstream connect error"),
    ],
)
def test_what_failed_gets_a_status_and_openais_form(
    proxy: Proxy, body: bytes, kind: str, status: int, words: str
) -> None:
    response = play(proxy, body, kind)
    assert (response.status_code, response.headers["content-type"]) == (
        status,
        "application/json",
    )
    assert conformance.check_error_body(response.content) == []
    assert loads(response.content)["error"]["message"] == words
    (record,) = proxy.records("flow")
    assert record["status"] == status
    assert record["fixes"]["error-status"] == 1


def test_events_of_another_type_are_a_stream_all_the_same(proxy: Proxy) -> None:
    response = play(proxy, BAD, "text/plain")
    assert response.status_code == 200
    assert b'"role":null' not in response.content
    assert response.headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize(
    "more",
    [
        {"content-length": ""},
        {"content-length": "0"},
        {"content-length": "7, 7"},
        {"content-length": str(MAX_BODY + 1)},
        {"content-type": "text/event-stream"},
        {"content-type": "application/octet-stream"},
    ],
)
def test_head_of_another_answer_does_not_wait(
    proxy: Proxy, more: dict[str, str]
) -> None:
    assert play(proxy, REFUSED, **more).stream


def test_body_that_cannot_be_decoded_passes_as_it_is(proxy: Proxy) -> None:
    response = play(proxy, b"no gzip", **{"content-encoding": "gzip"})
    assert (response.status_code, response.raw_content) == (200, b"no gzip")
    assert response.headers["content-encoding"] == "gzip"
