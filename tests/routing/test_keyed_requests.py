from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy import http

from llm_normalize.routing.keyed_requests import KeyedRequests
from llm_normalize.routing.keys import Secret
from proxies import Proxy, broken, chat_flow, connected, messages, response_of

KEY = "nvapi-canary-4711"
SECRET = Secret("env:A_KEY")


@pytest.fixture(autouse=True)
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setenv("A_KEY", KEY)
    with Proxy(tmp_path) as made:
        yield made


def keyed(scheme: str = "https") -> tuple[KeyedRequests, http.HTTPFlow]:
    made = chat_flow()
    made.response = None
    made.request.scheme = scheme
    requests = KeyedRequests()
    assert requests.add(made, SECRET)
    return requests, made


def test_key_is_seen_by_nobody_before_the_connection_is_there() -> None:
    for scheme in ("https", "http"):
        _, made = keyed(scheme)
        assert "authorization" not in made.request.headers
        connected(made, verify=scheme == "https")
        assert made.request.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("sni", "verify"), [("evil.test", True), ("", False), ("evil.test", False)]
)
def test_server_that_has_not_proved_its_name_gets_none(sni: str, verify: bool) -> None:
    _, made = keyed()
    connected(made, sni=sni, verify=verify)
    assert "authorization" not in made.request.headers


def test_request_that_is_sent_elsewhere_brings_none() -> None:
    for name, value in (("scheme", "http"), ("host", "b.test"), ("port", 8443)):
        _, made = keyed()
        setattr(made.request, name, value)
        connected(made)
        assert "authorization" not in made.request.headers


def test_no_more_is_known_of_a_flow_that_is_over() -> None:
    requests, made = keyed()
    connected(made)
    made.response = http.Response.make(200, KEY, {"x": KEY})
    requests.answered(made)
    assert response_of(made).headers["x"] == "***"
    requests.take_off(made)
    requests.take_off(made)
    assert made.request.headers["authorization"] == "***"
    requests.end(made)
    requests.end(made)
    assert response_of(made).text == "***"
    assert KEY not in repr(vars(requests))


def test_headers_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    requests, made = keyed()
    made.response = http.Response.make(200, b"", {"x": KEY, "y": "1"})
    requests.answered(made)
    searched: list[bytes] = []

    def without(data: bytes, key: bytes, **_: bool) -> bytes:
        searched.append(data)
        return data.replace(key, b"***")

    monkeypatch.setattr("llm_normalize.routing.key_echo.without", without)
    made.response.headers["later"] = KEY
    made.response.trailers = http.Headers(last=KEY)
    requests.answered(made)
    requests.end(made)
    assert not {b"x", b"y", b"1"} & {*searched}
    assert made.response.headers["later"] == made.response.trailers["last"] == "***"


def test_answer_that_never_was_echoes_in_its_error() -> None:
    requests, made = keyed()
    requests.answered(made)
    broken(made, f"invalid header name: {KEY}")
    requests.end(made)
    assert KEY not in str(made.get_state())


def test_what_is_under_way_has_no_key_when_mitmproxy_ends() -> None:
    requests, made = keyed()
    connected(made)
    requests.done()
    assert made.request.headers["authorization"] == "***"
    requests, made = keyed()
    connected(made)
    made.response = http.Response.make(200, KEY)
    requests.take_off(made)
    requests.done()
    assert KEY not in str(made.get_state())


def test_key_that_is_gone_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("A_KEY", "")
    made = chat_flow()
    assert not KeyedRequests().add(made, SECRET)
    assert response_of(made).status_code == 500
    assert "the variable A_KEY is empty" in messages(caplog)[0]
