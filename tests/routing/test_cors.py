import pytest
from mitmproxy import http

from llm_normalize.routing.cors import (
    grant,
    is_preflight,
    origin_of,
    origins,
    preflight,
)

PAGE = "https://chat.test"


def asking(method: str = "OPTIONS", **headers: str) -> http.Request:
    made = http.Request.make(method, "http://127.0.0.1/v1/chat/completions")
    for name, value in headers.items():
        made.headers[name.replace("_", "-")] = value
    return made


def test_origins_are_distinguished() -> None:
    known = origins([f"{PAGE}/", "http://localhost:3000", "app://obsidian.md"])
    assert origin_of(asking(origin=PAGE), known) == PAGE
    assert origin_of(asking(origin="HTTPS://Chat.test"), known) == "HTTPS://Chat.test"
    for other in ("https://evil.test", "null", "https://chat.test.evil.test", ""):
        assert origin_of(asking(origin=other), known) is None
    assert origin_of(asking(), known) is None


@pytest.mark.parametrize("text", ["*", "chat.test", "https://a/b", "https://a b"])
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="origin"):
        origins([text])


def test_preflight_is_answered() -> None:
    asked = asking(
        access_control_request_method="POST",
        access_control_request_headers="authorization, content-type",
    )
    assert is_preflight(asked)
    assert not is_preflight(asking())
    assert not is_preflight(asking("POST", access_control_request_method="POST"))
    headers = preflight(asked, PAGE).headers
    assert headers["access-control-allow-origin"] == PAGE
    assert headers["access-control-allow-headers"] == "authorization, content-type"
    assert "POST" in headers["access-control-allow-methods"]


def test_preflight_gives_nothing_strange_back() -> None:
    asked = asking(access_control_request_headers="a\x01: b")
    assert "access-control-allow-headers" not in preflight(asked, PAGE).headers


def test_answer_may_be_read_by_that_page_alone() -> None:
    response = http.Response.make(200, b"", {"access-control-allow-origin": "*"})
    response.headers["vary"] = "Accept"
    response.headers["content-type"] = "text/event-stream; charset=utf-8"
    for _ in range(2):
        grant(response, PAGE)
    assert response.headers.get_all("access-control-allow-origin") == [PAGE]
    assert response.headers["vary"] == "Accept, Origin"
    assert response.headers["cache-control"] == "no-cache"
    plain = http.Response.make(200, b"", {"content-type": "application/json"})
    grant(plain, PAGE)
    assert plain.headers["vary"] == "Origin"
    assert "cache-control" not in plain.headers
