"""The proxy's own pages, asked by the addon's hooks; no socket is opened."""

import html
import json
import re
import ssl
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import certs, http, tls
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.proxy.context import Context
from mitmproxy.test import tflow

from home.asking import PLACE, asked
from llm_normalize.home import rendering, trust_advice
from llm_normalize.home.probe import HOST
from llm_normalize.options import EVERY
from llm_normalize.text.command_line import command_line
from proxies import Proxy, fail, headers_of, messages, response_of

HTML = {"accept": "text/html,*/*;q=0.8"}
UP = "upstream:https://up.test:3128"


def give_ca(proxy: Proxy, mitm_ca: Path) -> str:
    config = TlsConfig()
    config.certstore = certs.CertStore.from_store(mitm_ca, "mitmproxy", 2048)
    proxy.context.master.addons.add(config)
    return (mitm_ca / "mitmproxy-ca-cert.pem").read_text()


def get(proxy: Proxy, path: str = "/", **more: Any) -> tuple[int, str]:
    made = asked(path, **more)
    proxy.addon.requestheaders(made)
    return response_of(made).status_code, response_of(made).text or ""


@pytest.mark.parametrize("mode", ["regular", UP])
def test_home_page_is_html_or_text_as_asked_for(proxy: Proxy, mode: str) -> None:
    status, page = get(proxy, headers=HTML, mode=mode)
    assert (status, page[:15]) == (200, "<!doctype html>")
    status, page = get(proxy, headers={"accept": "*/*"}, mode=mode)
    assert (status, page.splitlines()[0]) == (200, f"llm_normalize on {PLACE}")


@pytest.mark.parametrize(
    "mode", ["reverse:http://up.test", "transparent", "socks5", "wireguard"]
)
@pytest.mark.parametrize("path", ["/", "/proxy.pac", "/status.json"])
def test_other_modes_are_left_alone(proxy: Proxy, mode: str, path: str) -> None:
    made = asked(path, mode=mode)
    proxy.addon.requestheaders(made)
    assert made.response is None


@pytest.mark.parametrize("place", ["127.0.0.1:80", "evil.test:8080", "192.0.2.1:8080"])
def test_other_places_are_left_alone(proxy: Proxy, place: str) -> None:
    made = asked(place=place)
    proxy.addon.requestheaders(made)
    assert made.response is None


def test_answers_of_others_and_flows_that_are_over_are_left_alone(proxy: Proxy) -> None:
    made = asked()
    made.response = refused = http.Response.make(407)
    proxy.addon.requestheaders(made)
    assert made.response is refused
    made = asked()
    made.live = False
    proxy.addon.requestheaders(made)
    assert made.response is None
    made = asked()
    made.is_replay = "request"
    proxy.addon.requestheaders(made)
    assert made.response is None


def test_proxy_does_not_ask_itself_for_ever(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_normalize.home.home.is_from_proxy", lambda _: True)
    for place in ("evil.test:8080", PLACE):  # the latter, too, may be another's request
        status, page = get(proxy, "/status.json", place=place)
        assert status == 403
        assert page == "This name is the proxy's own. Ask it by its address.\n"
    made = asked(place="evil.test:81")
    proxy.addon.requestheaders(made)
    assert made.response is None


@pytest.mark.parametrize(
    ("options", "opens"),
    [
        ({}, "listed"),
        ({"normalize_only": False}, "all"),
        ({"normalize_only": False, "allow_hosts": ["x"]}, "allowed"),
    ],
)
def test_whose_tls_is_opened_is_reported(
    proxy: Proxy, options: dict[str, Any], opens: str
) -> None:
    proxy.set(**options)
    assert json.loads(get(proxy, "/status.json")[1])["opens"] == opens


@pytest.mark.parametrize("path", ["/", "/status.json", "/proxy.pac", "/nothing"])
def test_no_other_page_can_read_frame_or_include_it(proxy: Proxy, path: str) -> None:
    made = asked(path, headers=HTML)
    proxy.addon.requestheaders(made)
    headers = headers_of(made)
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert not [name for name in headers if name.startswith("access-control")]


def test_nonce_is_new_for_each_page(proxy: Proxy) -> None:
    policies = set()
    for _ in range(5):
        made = asked(headers=HTML)
        proxy.addon.requestheaders(made)
        policy = headers_of(made)["content-security-policy"]
        nonce = policy.partition("'nonce-")[2].partition("'")[0]
        assert (response_of(made).text or "").count(f'nonce="{nonce}"') == 2
        policies.add(policy)
    assert len(policies) == 5


@pytest.mark.parametrize("path", ["/", "/status.json", "/proxy.pac", "/metrics"])
def test_pages_of_other_sites_are_refused(proxy: Proxy, path: str) -> None:
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.test"}):
        status, page = get(proxy, path, headers=headers)
        assert status == 403
        assert page == "Pages of other sites get nothing from this proxy.\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(proxy: Proxy, method: str) -> None:
    made = asked(method=method)
    proxy.addon.requestheaders(made)
    assert response_of(made).status_code == 405
    assert headers_of(made)["allow"] == "GET, HEAD"


def test_head_is_the_same_without_the_body(proxy: Proxy) -> None:
    made, same = asked("/proxy.pac", method="HEAD"), asked("/proxy.pac")
    for each in (made, same):
        proxy.addon.requestheaders(each)
    assert response_of(made).content == b""
    assert int(headers_of(made)["content-length"]) == len(
        response_of(same).content or b""
    )


@pytest.mark.parametrize(
    "path", ["/x", "/clients/none", "/docs/none", "/docs/../x", "/mitmproxy-ca.pem"]
)
def test_there_is_no_other_page(proxy: Proxy, path: str) -> None:
    assert get(proxy, path) == (404, "Page not found.\n")
    status, page = get(proxy, path, headers=HTML)
    assert status == 404
    assert "<h1>Page not found</h1>" in page
    assert '<a href="/">' in page
    assert "<style nonce=" in page


LINK = re.compile(r' href="(?!data:)([^"]*)"')


@pytest.mark.parametrize(
    ("mode", "start"), [("regular", "/"), ("reverse:http://up.test", "/llm-normalize/")]
)
def test_every_link_leads_to_a_page_and_to_a_place_on_it(
    proxy: Proxy, mitm_ca: Path, mode: str, start: str
) -> None:
    give_ca(proxy, mitm_ca)
    proxy.addon._home.running()
    fixes = {"role-null": 2, "content-null": 1}
    proxy.addon.stats.add("api.test", "m", fixes, ["store-refused"], status=200)
    pages, waiting = dict[str, str](), [start]
    while waiting:
        link, _, anchor = html.unescape(waiting.pop()).partition("#")
        if link.startswith(("https://", "http://")):
            continue
        if link not in pages:
            status, pages[link] = get(proxy, link, headers=HTML, mode=mode)
            assert status == 200, link
            found = LINK.findall(pages[link])
            waiting += [each if each[:1] != "#" else link + each for each in found]
        assert not anchor or f'id="{anchor}"' in pages[link], (link, anchor)
    root = start.removesuffix("/")
    assert {f"{root}/fixes", f"{root}/metrics", f"{root}/docs/security"} <= set(pages)
    assert ("/proxy.pac" in html.unescape(pages[start])) is (not root)


def test_a_document_is_a_page_and_its_markdown_for_programs(proxy: Proxy) -> None:
    _, page = get(proxy, "/docs/views-and-commands", headers=HTML)
    assert "<h1>Views and commands</h1>" in page
    assert '<h2 id="commands">Commands</h2>' in page
    assert "<code>normalize.stats</code>" in page
    assert "| `normalize.stats` |" in get(proxy, "/docs/views-and-commands")[1]


def test_each_fix_and_change_of_requests_is_described(proxy: Proxy) -> None:
    status, page = get(proxy, "/fixes", headers=HTML)
    assert status == 200
    listed = re.findall(r'<tr id="([^"]+)"', page)
    assert listed == [each.name for each in EVERY]
    assert "<td>byte order mark at the stream&#39;s start → removed</td>" in page
    assert "<code>text/event-stream</code>" in page
    assert "\nbom-sent: byte order mark" in get(proxy, "/fixes")[1]


def test_the_report_and_mitmweb_are_a_step_away(proxy: Proxy) -> None:
    log = str(proxy.folder / "normalize" / "pairs-8080.jsonl")
    page = html.unescape(get(proxy, headers=HTML)[1])
    assert command_line("report", log, "-o", "report.html") in page
    assert "<code>llm-normalize --web</code>" in page
    proxy.set(normalize_pairs="")
    page = get(proxy, headers=HTML)[1]
    assert "The before/after log is off" in page
    assert "report.html" not in page
    proxy.context.options.add_option("web_port", int, 8081, "")
    proxy.context.options.add_option("web_host", str, "", "")
    page = get(proxy, headers=HTML)[1]
    assert '<a href="http://127.0.0.1:8081/">mitmweb</a>' in page
    assert "--web" not in page


def test_what_was_repaired_most_comes_first(proxy: Proxy) -> None:
    for model, fixes in (("a", {}), ("b", {"role-null": 1}), ("c", {})):
        proxy.addon.stats.add("api.test", model, fixes, status=200)
    proxy.addon.stats.add("api.test", "a", {"error-fields": 1}, status=429)
    page = get(proxy, headers=HTML)[1]
    assert re.findall("<strong>(.)</strong>", page) == ["b", "a", "c"]
    assert page.index("<h2") == page.index('<h2 id="repaired"')
    assert "<b>1 of 3</b> answers repaired; beside them <b>1</b> error." in page
    assert '<span class="errors">Errors by status: 429 (1)</span>' in page
    assert '<a href="/fixes#role-null">role-null <b>1</b></a>' in page


def test_commands_are_blocks_of_their_own_to_be_copied_whole(proxy: Proxy) -> None:
    page = get(proxy, headers=HTML)[1]
    found = trust_advice.of(proxy.folder, f"http://{PLACE}")
    copied = re.findall(r'<pre class="copy" tabindex="0"><code>([^<]*)</code>', page)
    shown = [html.unescape(each) for each in copied]
    assert shown[:3] == [found.install, found.exports, found.curl]


def test_who_takes_it_for_a_base_url_gets_a_hint(proxy: Proxy) -> None:
    for method, path in (("POST", "/v1/chat/completions"), ("GET", "/v1/models")):
        status, page = get(proxy, path, method=method)
        assert status == 404
        assert "--mode reverse:" in json.loads(page)["error"]["message"]


# -- the CA --------------------------------------------------------------------------------


def test_certificate_of_the_ca_and_never_its_key(proxy: Proxy, mitm_ca: Path) -> None:
    for path in ("/mitmproxy-ca-cert.pem", "/mitmproxy-ca-cert.cer"):
        assert get(proxy, path)[0] == 404  # there is none yet
    pem = give_ca(proxy, mitm_ca)
    made = asked("/mitmproxy-ca-cert.pem")
    proxy.addon.requestheaders(made)
    assert (response_of(made).text or "").strip() == pem.strip()
    assert "PRIVATE KEY" not in (response_of(made).text or "")
    assert headers_of(made)["content-type"] == "application/x-x509-ca-cert"
    assert headers_of(made)["content-disposition"] == (
        'attachment; filename="mitmproxy-ca-cert.pem"'
    )
    made = asked("/mitmproxy-ca-cert.cer")
    proxy.addon.requestheaders(made)
    assert response_of(made).content == ssl.PEM_cert_to_DER_cert(pem)
    reported = json.loads(get(proxy, "/status.json")[1])["ca_sha256"]
    found = certs.Cert.from_pem(pem.encode()).fingerprint()
    assert bytes.fromhex(reported.replace(":", "")) == found


def test_file_for_clients_has_all_roots_and_the_ca(proxy: Proxy, mitm_ca: Path) -> None:
    assert get(proxy, "/ca-bundle.pem")[0] == 404
    pem = give_ca(proxy, mitm_ca).strip()
    proxy.addon._home.running()
    path = proxy.folder / "normalize" / "ca-bundle.pem"
    text = path.read_text()
    assert text.count("BEGIN CERT") > 100
    assert text.rstrip().endswith(pem)
    made = asked("/ca-bundle.pem")
    proxy.addon.requestheaders(made)
    assert response_of(made).text == text
    assert ssl.create_default_context(cafile=path).get_ca_certs()


def test_file_that_cannot_be_written_is_said_and_nothing_else_suffers(
    proxy: Proxy, mitm_ca: Path, caplog: pytest.LogCaptureFixture
) -> None:
    give_ca(proxy, mitm_ca)
    proxy.folder.mkdir(exist_ok=True)
    (proxy.folder / "normalize").touch()
    proxy.addon._home.running()
    assert "ca-bundle.pem cannot be written: " in messages(caplog)[0]


# -- the PAC file ------------------------------------------------------------------------


def test_pac_has_the_hosts_the_routes_and_the_probe(proxy: Proxy) -> None:
    proxy.set(
        normalize_hosts=["api.test:8443"],
        normalize_routes=["old.test=https://new.test/v1"],
        normalize_only=False,
    )
    made = asked("/proxy.pac")
    proxy.addon.requestheaders(made)
    pac = response_of(made).text or ""
    assert headers_of(made)["content-type"] == "application/x-ns-proxy-autoconfig"
    assert f'"PROXY {PLACE}; DIRECT"' in pac
    for line in (
        '[false, 8443, ["test", "api"]]',
        '[false, -1, ["test", "old"]]',
        '["invalid", "llm-normalize", "check"]',
    ):
        assert line in pac


# -- who may know what -------------------------------------------------------------------


def test_clients_of_other_machines_get_what_they_need_alone(
    proxy: Proxy, mitm_ca: Path
) -> None:
    give_ca(proxy, mitm_ca)
    proxy.addon.stats.add("api.test", "secret-model", {"role-null": 2})
    lan: Any = {
        "place": "192.0.2.1:8080",
        "here": "192.0.2.1",
        "there": ("192.0.2.9", 50000),
    }
    assert get(proxy, "/status.json", **lan)[0] == 404
    for headers in (HTML, {}):
        status, page = get(proxy, headers=headers, **lan)
        assert status == 200
        assert "secret-model" not in page
        assert str(proxy.folder) not in page
    for path in ("/proxy.pac", "/mitmproxy-ca-cert.pem", "/clients/curl"):
        status, page = get(proxy, path, **lan)
        assert status == 200
        assert str(proxy.folder) not in page


@pytest.mark.parametrize("headers", [HTML, {}])
def test_each_page_says_how_to_trust_the_ca(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    with Proxy(tmp_path / "a folder") as proxy:
        found = trust_advice.of(proxy.folder, f"http://{PLACE}")
        for path in ("/", "/clients/curl", "/clients/docker-and-devcontainers"):
            page = html.unescape(get(proxy, path, headers=headers)[1])
            for command in (found.install, found.exports, found.curl):
                assert command in page
        assert f"--confdir '{proxy.folder}'" in found.install


def test_request_that_came_through_the_proxy_is_known(proxy: Proxy) -> None:
    assert "this one goes through" not in get(proxy)[1]
    headers = {"proxy-connection": "keep-alive"}
    assert "this one goes through" in get(proxy, headers=headers)[1]
    made = asked(mode=UP)
    made.request.authority = PLACE
    proxy.addon.requestheaders(made)
    assert "this one goes through" in (response_of(made).text or "")


def test_a_bug_costs_the_page(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rendering, "text", fail)
    assert get(proxy) == (500, "The proxy failed at this page.\n")
    assert "the home page cannot be shown" in messages(caplog, "ERROR")[0]


# -- the probe ---------------------------------------------------------------------------


def test_distrust_of_the_page_s_own_check_is_not_told(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    for host in (HOST, "api.test"):
        client = tflow.tclient_conn()
        client.sni, client.error = host, "unknown ca"
        context = Context(client, proxy.context.options)
        proxy.addon.tls_failed_client(tls.TlsData(client, context))
    assert len(messages(caplog)) == 1
    assert json.loads(get(proxy, "/status.json")[1])["refused"] == {"api.test": 1}
