import shlex
from pathlib import Path

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
    wants_key,
    warn,
)
from llm_normalize.routing.keys import Secret
from llm_normalize.routing.known_providers import HOSTS
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


def test_errors_are_openais() -> None:
    assert b'"type":"server_error"' in (refusal(500, "No", None).content or b"")
    reported = not_found(asking("", "GET", "/a\x1b"))
    assert b"GET /a\\\\x1b" in (reported.content or b"")
    assert is_list(asking("", "GET", "/models"))
    assert is_asked(asking(""))


VERTEX = (
    "/v1/projects/P/locations/L/endpoints/openapi "
    "/v1beta1/projects/P/locations/L/endpoints/1234"
)
ROWS = Path(__file__).with_name("base_paths.txt").read_text("utf-8").splitlines()
BASES = dict(each.split(" ", 1) for each in ROWS if not each.startswith("#"))


def bases_of(host: str) -> list[str]:
    of_host = VERTEX if "aiplatform." in host else BASES.get(host, "/v1")
    return shlex.split(of_host)


@pytest.mark.parametrize("host", sorted({*HOSTS, *BASES}))
def test_key_serves_behind_the_base_paths_of_each_provider(host: str) -> None:
    for base in bases_of(host):
        for method, end in (
            ("POST", "/chat/completions"),
            ("POST", "//chat/completions?api-version=1"),
            ("GET", "/models/"),
        ):
            request = asking("", method, f"{base}{end}")
            request.host = host.replace("*", "region-1")
            asked = f"{host}{request.path}"
            assert wants_key(request, is_other=False, known=None), asked
            assert is_plain(request.path) or not base, asked
        for more in ("/organization", "/organization/v1/admin_api_keys"):
            request = asking("", "GET", f"{base or '/v1'}{more}/models")
            request.host = host.replace("*", "region-1")
            assert not wants_key(request, is_other=False, known=None), request.path


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


def test_each_token_is_revoked_alone_and_goes_no_further(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("\n# the team\ntoken-anna # Anna\ntoken-ben\t# Ben\n")
    gate = Secret.parse(f"file:{file}", has_lines=True)
    for header, value in (
        ("authorization", "Bearer token-ben"),
        ("x-api-key", "token-ben"),
    ):
        request = asking("none", path="/v1/chat/completions?k=token-anna")
        request.headers[header] = value
        assert refused(request, gate) is None
        assert request.path == "/v1/chat/completions"
        assert not [each for each in request.headers.values() if "token" in each]
    file.write_text("token-anna # Anna\n")  # Ben has left
    assert refused(asking("token-anna"), gate) is None
    for token in ("token-ben", "#", "", "Anna"):
        assert refused(asking(token), gate) is not None
    request = asking("none", path="/v1/chat/completions?k=token-anna")
    request.headers["proxy-authorization"] = "Basic bWU6d29yZA=="
    assert refused(request, gate) is not None
    assert "proxy-authorization" not in request.headers  # nor saved
    assert "token-anna" not in request.path
    file.write_text("# nobody\n")
    request = asking("token-anna")
    request.headers["x-api-key"] = "token-ben"
    assert refused(request, gate) is not None
    assert not [each for each in request.headers.values() if "token" in each]
    with pytest.raises(ValueError, match="empty"):
        Secret.parse(f"file:{file}", has_lines=True)


def test_key_of_a_provider_has_one_line(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("key-one\nkey-two\n")
    with pytest.raises(ValueError, match="characters"):
        Secret.parse(f"file:{file}")
