"""mitmweb with the addon, and a real browser to look at it."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import psutil
import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from support import LOOPBACK, PATIENCE, Mitmdump

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PAGES_ONLY = "chromium-headless-shell"
"""Takes a third of the time to start, and knows less of proxies and certificates."""
SCREENSHOTS = os.environ.get("LLM_NORMALIZE_SCREENSHOTS")
"""A folder that keeps what the tests have looked at, for people."""


class Mitmweb(Mitmdump):
    """A mitmweb process with the addon."""

    program = "mitmweb"

    def __init__(self, folder: Path, ca: Path, *args: str, **more: Any) -> None:
        quiet = ("--no-web-open-browser", "--web-port", "0", "--web-host", LOOPBACK)
        super().__init__(folder, ca, *quiet, *args, **more)
        self.page = ""

    def __enter__(self) -> Self:
        super().__enter__()
        self.wait_for("/?token=")
        token = re.search(r"/\?token=(\w+)", self.log)
        assert token
        # It does not tell which port it took.
        listening = {
            each.laddr.port
            for each in psutil.Process(self.pid).net_connections("tcp")
            if each.status == psutil.CONN_LISTEN
        }
        (port,) = listening - {self.port}
        self.page = f"http://{LOOPBACK}:{port}/?token={token[1]}"
        return self


def browser_path() -> str:
    """Return where the browser is; skip without one, but not in CI."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        what = f"no browser is installed ({', '.join(BROWSERS)})"
        assert not os.environ.get("CI"), what
        pytest.skip(what)
    return found


@contextmanager
def opened() -> Iterator[Browser]:
    """Start a browser that shows pages."""
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@contextmanager
def launched(
    playwright: Playwright, *args: str, whole: bool = False
) -> Iterator[Browser]:
    """Start one of several browsers, of which each has *args* of its own.

    It is the quicker one, where that is installed, unless it has to be a *whole* one: only
    that reads a proxy script (PAC).
    """
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    quicker = None if whole else shutil.which(PAGES_ONLY)
    browser = playwright.chromium.launch(
        executable_path=quicker or browser_path(),
        args=[*(["--no-sandbox"] if root else []), *args],
    )
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def page_of(browser: Browser, url: str) -> Iterator[Page]:
    """Open *url*, and see that the page has no error and asks nobody else."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(PATIENCE * 1000)
    expect.set_options(timeout=PATIENCE * 1000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.on("request", lambda asked: _local(asked.url, errors))
    try:
        page.goto(url)
        yield page
    finally:
        page.close()
    assert errors == []


def _local(url: str, errors: list[str]) -> None:
    if not url.startswith(
        (f"http://{LOOPBACK}:", f"ws://{LOOPBACK}:", "data:", "file:")
    ):
        errors.append(url)


def keep(page: Page, name: str, part: str = "body") -> None:
    """Keep what is seen now of a *part* of the page, if somebody wants to look at it."""
    if SCREENSHOTS:
        page.locator(part).screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))
