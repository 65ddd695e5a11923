import importlib.util
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader, FlowWriter

from llm_normalize.routing.key_on_request import GuardedKey
from llm_normalize.routing.keys import Secret
from proxies import Proxy, chat_flow, connected, messages, response_of

KEY = "nvapi-canary-4711"
SECRET = Secret("env:A_KEY")


@pytest.fixture(autouse=True)
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setenv("A_KEY", KEY)
    with Proxy(tmp_path) as made:
        yield made


def keyed(scheme: str = "https") -> tuple[GuardedKey, http.HTTPFlow]:
    made = chat_flow()
    made.response = None
    made.request.scheme = scheme
    key = GuardedKey.put_on(made, SECRET)
    assert key is not None
    return key, made


def test_key_stands_in_the_headers_and_in_nothing_that_is_saved() -> None:
    made = chat_flow()
    made.request.headers["api-key"] = "the-clients-own"
    key = GuardedKey.put_on(made, SECRET)
    assert key is not None
    assert made.copy().request.headers["authorization"] == "***"  # nor is it due
    connected(made)
    assert made.request.headers["authorization"] == f"Bearer {KEY}"
    assert "api-key" not in made.request.headers
    sent = made.request.copy()  # as mitmproxy sends it from HTTP/2 to HTTP/1
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    file = io.BytesIO()
    FlowWriter(file).add(made)
    assert KEY.encode() not in file.getvalue()
    assert b"nvapi-key" not in file.getvalue()
    assert b"the-clients-own" not in file.getvalue()
    file.seek(0)
    (read,) = FlowReader(file).stream()
    assert isinstance(read, http.HTTPFlow)
    assert read.request.headers["authorization"] == "***"
    assert KEY not in str(made.copy().request.headers)
    made.backup()  # as before an edit by the user
    assert KEY not in str(made.get_state())
    key.take_off()
    assert made.request.headers["authorization"] == "***"
    assert made.get_state()["request"]["path"] == made.request.data.path


def test_guard_of_the_package_before_a_reload_guards_the_keys_of_the_next() -> None:
    keyed()
    spec = importlib.util.find_spec(GuardedKey.__module__)
    assert spec is not None
    assert spec.loader is not None
    anew = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(anew)
    made = chat_flow()
    made.response = None
    assert anew.GuardedKey.put_on(made, SECRET)
    connected(made)
    assert made.request.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(made.get_state())
    assert KEY not in str(made.copy().request.headers)


def test_headers_may_be_changed_while_the_key_is_due() -> None:
    key, made = keyed()
    headers = made.request.headers
    early = made.server_conn
    connected(made)
    headers["x"] = "1"  # which reads all, and writes all
    assert headers.copy()["authorization"] == f"Bearer {KEY}"
    made.server_conn = early
    assert KEY not in str(headers)
    key.take_off()
    assert made.request.headers["x"] == "1"


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


def test_headers_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    key, made = keyed()
    made.response = http.Response.make(200, b"", {"x": KEY, "y": "1"})
    key.hide_in_head()
    searched: list[bytes] = []

    def without(data: bytes, key: bytes, **_: bool) -> bytes:
        searched.append(data)
        return data.replace(key, b"***")

    monkeypatch.setattr("llm_normalize.routing.key_echo.without", without)
    made.response.headers["later"] = KEY
    made.response.trailers = http.Headers(last=KEY)
    key.hide_in_head()
    key.close()
    assert not {b"x", b"y", b"1"} & {*searched}
    assert made.response.headers["later"] == made.response.trailers["last"] == "***"


def test_key_that_is_gone_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("A_KEY", "")
    made = chat_flow()
    assert GuardedKey.put_on(made, SECRET) is None
    assert response_of(made).status_code == 500
    assert "the variable A_KEY is empty" in messages(caplog)[0]
