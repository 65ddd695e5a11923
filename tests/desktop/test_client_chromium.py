"""Chromium with `--proxy-server`, as Electron's own network takes it; no Electron is run."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, sync_playwright

from desktop.outside import NIM, UNLISTED, WORD, Outside
from nim_stream import DONE, FINISH, OPENING
from support import LOOPBACK, PATIENCE, Provider
from web import browser_path

HTML = {"content-type": "text/html"}
ASK = """
async (path) => {
  const body = JSON.stringify({model: "acme/brook-8b", stream: true, messages: []});
  const answer = await fetch(path, {method: "POST", body});
  window.reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  return (await window.reader.read()).value;
}
"""
REST = """
async () => {
  let text = "";
  for (;;) {
    const {value, done} = await window.reader.read();
    if (done) return text;
    text += value;
  }
}
"""


@contextmanager
def opened(profile: Path, environ: dict[str, str], *flags: str) -> Iterator[Page]:
    """Yield a page of a browser that has its own *profile* and these variables."""
    quiet = ["--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(profile),
            executable_path=browser_path(),
            env=dict(environ),
            chromium_sandbox=False,
            args=[*flags, *quiet],
        )
        try:
            page = context.new_page()
            page.set_default_timeout(PATIENCE * 1000)
            yield page
        finally:
            context.close()


@pytest.fixture
def page(outside: Outside, tmp_path: Path) -> Iterator[Page]:
    """A page of a browser that trusts mitmproxy by its NSS database alone."""
    database = tmp_path / ".pki" / "nssdb"
    database.mkdir(parents=True)
    where = ("-d", f"sql:{database}")
    _certutil(*where, "-N", "--empty-password")
    _certutil(*where, "-A", "-n", "mitmproxy", "-t", "C,,", "-i", outside.ca)
    proxy = f"--proxy-server={LOOPBACK}:{outside.mitmdump.port}"
    with opened(tmp_path / "profile", {"HOME": str(tmp_path)}, proxy) as made:
        yield made


def assert_it_streams(page: Page, nim: Provider) -> None:
    """See that the beginning of a stream comes at once, repaired."""
    home = nim.script(b"<p>here</p>", headers=HTML)
    gate = threading.Event()
    script = nim.script(OPENING, gate, WORD, FINISH, DONE)
    page.goto(f"https://{NIM}{home.path}")
    first = page.evaluate(ASK, script.path)
    assert '"delta":{"role":"assistant","content":""}' in first
    gate.set()
    rest = page.evaluate(REST)
    assert '"delta":{"content":"Mill brook."}' in rest
    assert rest.endswith("data: [DONE]\n\n")


def test_chromium_streams_through_the_proxy(outside: Outside, page: Page) -> None:
    assert_it_streams(page, outside.nim)


def test_chromium_sees_the_own_certificate_of_an_unlisted_host(
    outside: Outside, page: Page
) -> None:
    script = outside.unlisted.script(b"<p>its own</p>", headers=HTML)
    with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
        page.goto(f"https://{UNLISTED}{script.path}")
    assert script.requests == []


def _certutil(*arguments: str) -> None:
    subprocess.run(
        ("certutil", *arguments), check=True, capture_output=True, timeout=PATIENCE
    )
