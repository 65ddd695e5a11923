"""The proxy's own pages through a real mitmdump, and in a real browser."""

import base64
import hashlib
import http.client
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from support import (
    LOOPBACK,
    PATIENCE,
    Mitmdump,
    Provider,
    body_script,
    connect,
    starting,
)
from web import browser_path, keep, launched

PROBE = "check.llm-normalize.invalid"
RESOLVES = f"""\
'''Lets names of .test lead to this machine, as a resolver may that an attacker has.'''


def server_connect(data):
    host, port, *_ = data.server.address
    if host.endswith(".test"):
        data.server.address = ("{LOOPBACK}", port)
"""

PAGE = {"content-type": "text/html"}

type Start = Callable[..., Mitmdump]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path) -> Iterator[Start]:
    folder = tmp_path_factory.mktemp("mitmdumps")
    with starting(folder, mitm_ca, scripts=[RESOLVES]) as begin:
        yield begin


@pytest.fixture(scope="module")
def regular(start: Start) -> Mitmdump:
    return start(normalize_hosts=["listed.test", "*.many.test"])


def ask(
    proxy: Mitmdump,
    target: str = "/",
    host: str = "",
    *,
    method: str = "GET",
    headers: dict[str, str] | None = None,
) -> tuple[int, dict[str, str], str]:
    """Ask the proxy itself, in whatever form *target* has."""
    connection = http.client.HTTPConnection(LOOPBACK, proxy.port, timeout=PATIENCE)
    place = host or f"{LOOPBACK}:{proxy.port}"
    connection.request(method, target, headers={"host": place, **(headers or {})})
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    found = {name.lower(): value for name, value in reply.getheaders()}
    return reply.status, found, body


def status(proxy: Mitmdump) -> Any:
    return json.loads(ask(proxy, "/status.json")[2])


def connections(proxy: Mitmdump) -> int:
    """How many clients have connected, with the one that makes sure of it."""
    return proxy.printed().count("client connect")


# -- without a browser -------------------------------------------------------------------


def test_origin_form_and_absolute_form_get_the_same_page(regular: Mitmdump) -> None:
    port = regular.port
    for target, host in (
        ("/", f"{LOOPBACK}:{port}"),
        ("/", f"localhost:{port}"),
        (f"http://{LOOPBACK}:{port}/", f"{LOOPBACK}:{port}"),
        (f"http://localhost:{port}/", "whatever.test"),
    ):
        code, headers, body = ask(regular, target, host)
        assert (code, headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert body.startswith("llm_normalize on ")
        assert "listed.test" in body


@pytest.mark.parametrize(
    "name", ["evil.test", "127.1", "0.0.0.0", "127.0.0.1.evil.test"]
)
def test_no_other_name_of_the_proxy_gets_anything(regular: Mitmdump, name: str) -> None:
    path = "/status.json"
    place = f"{name}:{regular.port}"
    before = connections(regular)
    for target in (path, f"http://{place}{path}"):
        code, headers, body = ask(regular, target, place)
        assert code == 403
        assert body == "This name is the proxy's own. Ask it by its address.\n"
        assert not [each for each in headers if each.startswith("access-control")]
    # Each was asked once more, by the proxy itself, and not for ever.
    # (The last marker itself is a connection, too.)
    assert connections(regular) - before - 1 <= 4


def test_another_host_header_opens_nothing_by_a_detour(regular: Mitmdump) -> None:
    """A client of another machine might let the proxy ask itself, as if from here."""
    target = f"http://127.1:{regular.port}/status.json"
    assert ask(regular, target, f"{LOOPBACK}:{regular.port}")[0] == 403


def test_probe_needs_no_upstream(regular: Mitmdump) -> None:
    place = status(regular)["probe"]
    assert place.startswith(f"{PROBE}/")
    code, _, body = ask(regular, f"http://{place}.svg", PROBE)
    assert (code, "goes through" in body) == (200, True)
    assert over_tls(regular, place)
    assert f"server connect {PROBE}" not in regular.printed()


def over_tls(proxy: Mitmdump, place: str) -> bool:
    """Tell whether the probe answers by https."""
    host, _, path = place.partition("/")
    raw = connect(proxy.port, tunnel=f"{host}:443", ca=proxy.ca)
    with raw:
        request = (
            f"GET /{path}.svg HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )
        raw.sendall(request.encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
        return b"trusts its CA" in answer


def test_behind_another_proxy(start: Start) -> None:
    other = start()
    up = start("--mode", f"upstream:http://{LOOPBACK}:{other.port}")
    assert ask(up)[2].startswith(f"llm_normalize on {LOOPBACK}:{up.port}\n")
    assert ask(up, f"http://{LOOPBACK}:{up.port}/")[0] == 200
    pac = ask(up, "/proxy.pac")[2]
    behind = f"PROXY {LOOPBACK}:{other.port}"
    assert f'var THROUGH = "PROXY {LOOPBACK}:{up.port}; {behind}";' in pac
    assert f'var OTHERWISE = "{behind}";' in pac
    place = status(up)["probe"]
    assert ask(up, f"http://{place}.svg", PROBE)[0] == 200
    assert over_tls(up, place)
    assert PROBE not in other.printed()


# -- in a browser ------------------------------------------------------------------------


def pac_url(proxy: Mitmdump) -> str:
    return f"--proxy-pac-url=http://{LOOPBACK}:{proxy.port}/proxy.pac"


def trust(proxy: Mitmdump) -> str:
    """Return the flag by which the browser trusts the proxy's CA."""
    pem = x509.load_pem_x509_certificate(proxy.ca.read_bytes())
    spki = pem.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    digest = base64.b64encode(hashlib.sha256(spki).digest()).decode()
    return f"--ignore-certificate-errors-spki-list={digest}"


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    browser_path()  # without one there is nothing to start
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="module")
def straight(playwright: Playwright) -> Iterator[Browser]:
    """A browser for which each name leads here, and that knows no proxy."""
    rules = "--host-resolver-rules=MAP *.test 127.0.0.1"
    with launched(playwright, rules) as browser:
        yield browser


@pytest.fixture(scope="module")
def trusting(playwright: Playwright, regular: Mitmdump) -> Iterator[Browser]:
    """A browser that goes through the proxy, and trusts its CA."""
    with launched(playwright, pac_url(regular), trust(regular), whole=True) as browser:
        yield browser


def home(proxy: Mitmdump) -> str:
    return f"http://{LOOPBACK}:{proxy.port}/"


def new_page(browser: Browser, url: str, **more: Any) -> Page:
    page = browser.new_page(**more)
    page.set_default_timeout(PATIENCE * 1000)
    expect.set_options(timeout=PATIENCE * 1000)
    page.goto(url)
    return page


GOES = "It goes through the proxy."
TRUSTS = "It trusts the proxy's CA."
NEITHER = "Whether it trusts the proxy's CA is unknown until it goes through the proxy."


@pytest.mark.browser
def test_page_says_whether_this_browser_goes_through_and_trusts(
    regular: Mitmdump, playwright: Playwright, straight: Browser, trusting: Browser
) -> None:
    with launched(playwright, pac_url(regular), whole=True) as untrusting:
        for name, browser, through, trusts in (
            ("direct", straight, "It does not go through the proxy.", NEITHER),
            ("untrusted", untrusting, GOES, "It does not trust the proxy's CA"),
            ("trusted", trusting, GOES, TRUSTS),
        ):
            page = new_page(
                browser, home(regular), viewport={"width": 360, "height": 800}
            )
            expect(page.locator("#through")).to_have_text(through)
            expect(page.locator("#trusts")).to_contain_text(trusts)
            # A cross for who goes through it, and may fail there, alone.
            assert page.locator(".no").count() == (name == "untrusted")
            keep(page, f"home-{name}")
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width == 360  # nothing sticks out
            page.close()
    assert "refused" not in ask(regular)[2]  # the page's own check is nobody's distrust


@pytest.mark.browser
def test_reverse_proxy_has_the_page_where_its_provider_has_none(
    start: Start, straight: Browser
) -> None:
    with Provider() as provider:
        reverse = start("--mode", f"reverse:http://{LOOPBACK}:{provider.port}")
        for scheme, width in product(("light", "dark"), (375, 1280)):
            size: Any = {"width": width, "height": 800}
            page = new_page(straight, home(reverse), viewport=size, color_scheme=scheme)
            expect(page.locator("h1")).to_have_text("llm_normalize")
            expect(page.locator("#base")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") == width
            keep(page, f"home-reverse-{scheme}-{width}")
            page.get_by_role("link", name="The fixes").click()
            expect(page.locator("h1")).to_have_text("The fixes")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            keep(page, f"fixes-{scheme}-{width}")
            page.get_by_role("link", name="llm_normalize").click()
            expect(page.locator("#base")).to_be_visible()
            assert page.url == f"{home(reverse)}llm-normalize/"
            page.close()
        # What the provider has is its own.
        provider.alias(provider.script(b"<h1>its own</h1>", headers=PAGE), "/")
        page = new_page(straight, home(reverse))
        expect(page.locator("h1")).to_have_text("its own")
        page.close()


@pytest.mark.browser
def test_a_click_selects_a_whole_command(regular: Mitmdump, straight: Browser) -> None:
    page = new_page(straight, home(regular), viewport={"width": 375, "height": 800})
    command = page.locator("pre.copy", has_text="export ")
    words = command.inner_text()
    command.click()
    assert page.evaluate("getSelection().toString()").strip() == words
    assert " NODE_EXTRA_CA_CERTS=" in words
    assert command.evaluate("each => each.scrollWidth - each.clientWidth") == 0
    page.close()


TRY = """async ([url, tag]) => {
  if (tag == "cors" || tag == "no-cors") {
    try {
      const reply = await fetch(url, {mode: tag});
      return "answer: " + (await reply.text());
    } catch (error) { return "nothing"; }
  }
  return await new Promise((done) => {
    const made = document.createElement(tag);
    made.onload = () => done("loaded " + typeof window.FindProxyForURL);
    made.onerror = () => done("nothing");
    made.src = url;
    document.head.append(made);
  });
}"""
FRAME = """async (url) => {
  const made = document.createElement("iframe");
  await new Promise((done) => { made.onload = done; made.src = url; document.body.append(made); });
  try { return made.contentDocument.body.innerText; } catch (error) { return "closed"; }
}"""


@pytest.mark.browser
def test_page_of_another_site_can_neither_read_nor_include_nor_frame_it(
    regular: Mitmdump, straight: Browser
) -> None:
    empty = body_script(b"<!doctype html>", content_type="text/html")
    with Provider(answer=lambda _: empty) as other:
        # Another site, and another port of the same one.
        for origin in (f"http://evil.test:{other.port}/", f"{other.url}/"):
            page = new_page(straight, origin)
            for path in ("", "status.json", "proxy.pac", "mitmproxy-ca-cert.pem"):
                url = home(regular) + path
                for tag in ("cors", "no-cors", "img", "script"):
                    assert page.evaluate(TRY, [url, tag]) == "nothing", (url, tag)
                assert page.evaluate(FRAME, url) == "closed"
            framed = [each.url for each in page.frames[1:]]
            # A frame without an address has loaded nothing, not even an error.
            assert all(not x or x.startswith("chrome-error:") for x in framed), framed
            page.close()


@pytest.mark.browser
def test_pac_sends_listed_hosts_through_and_others_straight(
    start: Start, provider: Provider, playwright: Playwright
) -> None:
    proxy = start(normalize_hosts=["listed.test", "*.many.test"])
    script = provider.script(b"an answer", headers={"content-type": "text/plain"})
    rules = "--host-resolver-rules=MAP straight.test 127.0.0.1, MAP many.test 127.0.0.1"
    with launched(playwright, pac_url(proxy), rules, whole=True) as browser:
        for host, goes in (
            ("listed.test", True),
            ("a.many.test", True),
            ("many.test", False),
            ("straight.test", False),
        ):
            url = f"http://{host}:{provider.port}{script.path}"
            page = new_page(browser, url)
            assert page.inner_text("body") == "an answer"
            printed = proxy.printed().replace("…", "")
            assert (f"GET {url}"[:60] in printed) is goes, host
            page.close()
