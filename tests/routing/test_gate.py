import pytest
from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from llm_normalize import conformance
from llm_normalize.routing.gate import (
    is_asked,
    is_list,
    is_plain,
    key_refused,
    not_found,
    refusal,
    refused,
    warn,
)
from llm_normalize.routing.keys import Secret
from proxies import messages

TOKEN = Secret("env:A_TOKEN")


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "token-0815")


def asking(
    token: str, method: str = "POST", path: str = "/v1/chat/completions"
) -> http.Request:
    request = tflow.tflow().request
    request.method, request.path = method, path
    request.headers["authorization"] = f"Bearer {token}"
    return request


@pytest.mark.parametrize(
    ("token", "method", "path", "status"),
    [
        ("token-0815", "POST", "/v1/chat/completions", None),
        ("token-0815", "GET", "/v1/models?x", None),
        ("token-0815", "GET", "/v1/models/", None),
        ("token-0815", "POST", "/v1/models", 404),
        ("token-0815", "GET", "/", 404),
        ("other", "POST", "/v1/chat/completions", 401),
        ("other", "GET", "/", 401),
    ],
)
def test_who_has_the_token_gets_what_is_served(
    token: str, method: str, path: str, status: int | None
) -> None:
    reported = refused(asking(token, method, path), TOKEN)
    assert (reported and reported.status_code) == status
    if reported is not None:
        assert conformance.check_error_body(reported.content or b"") == []


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("/v1/x", True),
        ("/v1//x?//", True),
        ("//evil.test/v1/x", False),
        ("/v1/%2e%2e/x", False),
    ],
)
def test_path_that_may_be_another_is_not_plain(path: str, plain: bool) -> None:
    assert is_plain(path) is plain


@pytest.mark.parametrize(
    ("mode", "refused"), [("regular", False), ("upstream:http://up.test:3128", True)]
)
def test_host_on_this_machine_is_another_one_behind_another_proxy(
    mode: str, refused: bool
) -> None:
    made = tflow.tflow()
    made.client_conn.proxy_mode = ProxyMode.parse(mode)
    made.request = http.Request.make("POST", "http://localhost:8000/v1/x")
    reported = key_refused(made, frozenset(), is_routed=False, is_known=True)
    assert (reported is not None) is refused


def test_gate_without_its_token_lets_nobody_in(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("A_TOKEN")
    reported = refused(asking(""), TOKEN)
    assert reported is not None
    assert reported.status_code == 401
    assert "the variable A_TOKEN is empty; nobody is let in" in messages(caplog)[0]


def test_errors_are_openais() -> None:
    assert b'"type":"server_error"' in (refusal(500, "No", None).content or b"")
    reported = not_found(asking("", "GET", "/a\x1b"))
    assert b"GET /a\\\\x1b" in (reported.content or b"")
    assert is_list(asking("", "GET", "/models"))
    assert is_asked(asking(""))


@pytest.mark.parametrize(
    ("mode", "host", "warned"),
    [
        ("reverse:https://a.test", "", True),
        ("reverse:https://a.test", "0.0.0.0", True),
        ("reverse:https://a.test", "127.0.0.1", False),
        ("reverse:https://a.test@127.0.0.1:0", "", False),
        ("reverse:https://a.test", "localhost", False),
        ("regular", "", True),
        ("regular", "192.0.2.7", True),
        ("regular", "::", True),
        ("regular", "127.0.0.2", False),
        ("regular@::1:0", "", False),
        ("upstream:http://a.test", "", True),
        ("socks5", "", True),
        ("local:curl", "", False),
    ],
)
@pytest.mark.parametrize("has_keys", [False, True])
def test_proxy_that_stands_open_is_warned_of(
    caplog: pytest.LogCaptureFixture, mode: str, host: str, warned: bool, has_keys: bool
) -> None:
    modes = [ProxyMode.parse(mode)]
    warn(modes, host, guarded=False, has_keys=has_keys)
    assert ["and its key" in each for each in messages(caplog)] == [has_keys] * warned
    repair = "normalize_gate" if "reverse" in mode else "--proxyauth NAME:PASSWORD"
    assert all(f"127.0.0.1, or {repair}." in each for each in messages(caplog))
    warn(modes, host, guarded=True, has_keys=has_keys)
    assert len(messages(caplog)) == int(warned)
