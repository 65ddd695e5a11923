"""The pages of a reverse proxy: below a path of their own, and where a provider has no `/`."""

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from home.asking import asked
from proxies import Proxy, response_of

HTML = {"accept": "text/html,*/*;q=0.8"}
UP = "reverse:https://up.test"
OWN = "/llm-normalize"


def reached(path: str, **more: Any) -> http.HTTPFlow:
    """Return a request to a reverse proxy, as mitmproxy's first hook sees it."""
    made = asked(path, **{"mode": UP, **more})
    made.request.llm_normalize_host = made.request.headers["host"]  # type: ignore[attr-defined]
    made.request.host, made.request.port = "up.test", 443
    made.request.scheme = "https"
    return made


def get(proxy: Proxy, path: str, **more: Any) -> tuple[int, str] | None:
    """Return what the proxy itself answers; None if the provider is asked."""
    made = reached(path, **more)
    proxy.addon.requestheaders(made)
    if made.response is None:
        return None
    return made.response.status_code, made.response.text or ""


def test_page_says_the_base_url_and_nothing_of_a_proxy_or_a_ca(proxy: Proxy) -> None:
    proxy.addon.stats.add("up.test", "acme-1", {"role-null": 2}, status=200)
    for headers in (HTML, {}):
        status, page = get(proxy, OWN + "/", headers=headers) or (0, "")
        assert status == 200
        assert "http://127.0.0.1:8080/v1" in page
        assert "https://up.test" in page
        assert "acme-1" in page
        for word in ("PAC", "SHA-256", "HTTPS_PROXY", "mitmproxy-ca"):
            assert word not in page
    page = (get(proxy, OWN, headers=HTML) or (0, ""))[1]
    assert "OPENAI_BASE_URL" in page
    assert page.index("Repaired so far") < page.index("The base URL")


@pytest.mark.parametrize(
    ("upstream", "path"), [("https://api.groq.com", "/openai/v1"), (UP[8:], "/v1")]
)
def test_base_url_has_the_providers_path(
    proxy: Proxy, upstream: str, path: str
) -> None:
    for headers in (HTML, {}):
        made = reached(f"{OWN}/", headers=headers, mode=f"reverse:{upstream}")
        proxy.addon.requestheaders(made)
        assert f"http://127.0.0.1:8080{path}" in (response_of(made).text or "")


def test_page_asks_for_a_token_where_there_is_a_gate(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "a-token-of-the-team")
    page = (get(proxy, f"{OWN}/", headers=HTML) or (0, ""))[1]
    assert "the same key, <code>http://</code>, no certificate" in page
    proxy.set(normalize_gate="env:TOKEN")
    bearer = {"authorization": "Bearer a-token-of-the-team"}
    page = (get(proxy, f"{OWN}/", headers=HTML | bearer) or (0, ""))[1]
    assert "a token of its gate as the key" in page


def test_programs_get_their_figures_there(proxy: Proxy) -> None:
    _, page = get(proxy, f"{OWN}/status.json") or (0, "{}")
    assert json.loads(page)["name"] == "llm_normalize"
    _, page = get(proxy, f"{OWN}/metrics") or (0, "")
    assert page.startswith("# HELP llm_normalize_info ")


@pytest.mark.parametrize("path", ["proxy.pac", "mitmproxy-ca-cert.pem", "clients/curl"])
def test_what_clients_of_a_proxy_need_is_not_there(proxy: Proxy, path: str) -> None:
    status, page = get(proxy, f"{OWN}/{path}", headers=HTML) or (0, "")
    assert (status, f'href="{OWN}/"' in page) == (404, True)


@pytest.mark.parametrize(
    "more",
    [
        {"there": ("192.0.2.9", 50000)},
        {"headers": {"x-forwarded-for": "192.0.2.9"}},
        {"place": "evil.test:8080"},
    ],
)
def test_all_others_are_sent_to_the_provider(proxy: Proxy, more: Any) -> None:
    assert get(proxy, f"{OWN}/status.json", **more) is None


def test_paths_that_only_begin_alike_are_the_providers(proxy: Proxy) -> None:
    assert get(proxy, f"{OWN}-more/v1") is None
    assert get(proxy, "/v1/models") is None


def test_gate_comes_first(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "a-token-of-the-team")
    proxy.set(normalize_gate="env:TOKEN")
    path = f"{OWN}/metrics"
    assert (get(proxy, path) or (0, ""))[0] == 401
    bearer = {"authorization": "Bearer a-token-of-the-team"}
    assert (get(proxy, path, headers=bearer) or (0, ""))[0] == 200
    monkeypatch.delenv("TOKEN")
    assert (get(proxy, path, headers=bearer) or (0, ""))[0] == 401


def test_each_token_of_a_file_shows_the_pages_and_no_part_of_one_does(
    proxy: Proxy, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("token-of-anna # anna\ntoken-of-ben\n", encoding="utf-8")
    proxy.set(normalize_gate=f"file:{tokens}")
    for token, status in {"token-of-anna": 200, "token-of-ben": 200, "t": 401}.items():
        bearer = {"authorization": f"Bearer {token}"}
        assert (get(proxy, f"{OWN}/metrics", headers=bearer) or (0, ""))[0] == status


def answered(
    proxy: Proxy, path: str = "/", *, status: int = 404, **more: Any
) -> http.Response:
    """Return what the client gets after the provider has answered."""
    made = reached(path, **more)
    proxy.addon.requestheaders(made)
    assert made.response is None
    made.response = http.Response.make(
        status, b"", {"content-type": "text/event-stream"}
    )
    proxy.addon.responseheaders(made)
    made.response.raw_content = b"the provider's"
    if not made.response.stream:
        proxy.respond(made)
    return response_of(made)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_browser_gets_the_page_no_provider_has(proxy: Proxy, status: int) -> None:
    response = answered(proxy, status=status, headers=HTML)
    assert response.status_code == 200
    assert "<h1>llm_normalize</h1>" in (response.text or "")
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


def test_observe_leaves_a_providers_error_to_browsers(proxy: Proxy) -> None:
    proxy.set(normalize_mode="observe")
    response = answered(proxy, headers=HTML)
    assert (response.status_code, response.raw_content) == (404, b"the provider's")
    status, page = get(proxy, f"{OWN}/", headers=HTML) or (0, "")
    assert (status, "It observes, and repairs nothing" in page) == (200, True)


def test_gate_is_not_passed_by_the_page(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "a-token-of-the-team")
    proxy.set(normalize_gate="env:TOKEN")
    made = reached("/", headers=HTML)
    proxy.addon.requestheaders(made)
    proxy.respond(made)
    assert response_of(made).status_code == 401
