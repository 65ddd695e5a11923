"""mitmweb in a real browser: what a user sees of a repaired answer.

LLM_NORMALIZE_SCREENSHOTS names a folder that keeps what was looked at.
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from nim_stream import ASKED, DONE, FINISH, OPENING, STREAM, chunk, word
from support import LOOPBACK, Http1Client, Provider, connect, to
from web import Mitmweb, keep, opened, page_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202eevil"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as browser:
        yield browser


@pytest.fixture(scope="module")
def web(
    browser: Browser,  # noqa: ARG001 - without one, nothing is to be started
    tmp_path_factory: pytest.TempPathFactory,
    mitm_ca: Path,
    provider: Provider,
) -> Iterator[Mitmweb]:
    folder = tmp_path_factory.mktemp("web")
    with Mitmweb(folder, mitm_ca, *to(provider)) as web:
        yield web


def show(page: Page, path: str) -> None:
    """Open the response of the flow to *path*."""
    page.locator("td.col-path", has_text=path).click()
    page.locator(".nav-tabs").get_by_text("Response").click()


def choose(page: Page, name: str) -> None:
    """Choose the content view *name*."""
    page.get_by_text("View:").click()
    page.get_by_role("menuitem").get_by_text(name, exact=True).or_(
        page.locator("li").get_by_text(name, exact=True)
    ).first.click()


def sees(page: Page, *texts: str) -> None:
    for text in texts:
        expect(page.locator(".contentview")).to_contain_text(text)


def test_view_opens_by_itself_and_tells_what_changed(
    browser: Browser, web: Mitmweb, provider: Provider
) -> None:
    script = provider.script(*STREAM)
    web.ask(script.path, ASKED)
    with page_of(browser, web.page) as page:
        show(page, script.path)
        sees(
            page,
            "44 of 45 events repaired",
            "model     acme/brook-8b",
            "answer    status 200, stream, complete",
            "43 x role-null",
            'choices[0].delta.content: null → ""',
            "next 41 events: choices[0].delta.role: null → removed",
        )
        page.set_viewport_size({"width": 1000, "height": 1200})
        keep(page, "before-after", ".flow-detail")
        choose(page, "transcript")
        sees(page, "Mill brook brook", "finish: stop")
        keep(page, "transcript")


def test_stream_is_shown_while_it_runs(
    browser: Browser, web: Mitmweb, provider: Provider
) -> None:
    gate = threading.Event()
    script = provider.script(*STREAM[:5], gate, *STREAM[5:])
    with Http1Client(connect(web.port)) as client, page_of(browser, web.page) as page:
        reply = client.post(script.path, ASKED)
        reply.until(b" brook")
        show(page, script.path)
        sees(page, "answer    status 200, stream, still running", "x role-null")
        keep(page, "running")
        choose(page, "transcript")
        sees(page, "Mill brook", "still running: there is more to come")
        gate.set()
        reply.rest()
        sees(page, "finish: stop")
        choose(page, "auto")
        sees(page, "44 of 45 events repaired", "complete")


def test_what_a_provider_sends_is_shown_as_text(
    browser: Browser, web: Mitmweb, provider: Provider
) -> None:
    hostile = chunk({"role": None, "content": HOSTILE}, model=HOSTILE)
    script = provider.script(OPENING, hostile, hostile, FINISH, DONE)
    web.ask(script.path, ASKED)
    with page_of(browser, web.page) as page:
        scripts = page.locator("script").count()
        show(page, script.path)
        sees(page, "<script>alert(1)</script>", r"\u001b[2J", r"\u202eevil")
        choose(page, "transcript")
        sees(page, "<script>alert(1)</script>", r"\x1b[2J", r"\u202eevil")
        assert page.locator("script").count() == scripts
        assert page.locator(".contentview img").count() == 0
        keep(page, "hostile")


SPLIT = chunk({"role": None, "content": "On and on runs the brook. " * 30}, "stop")
WIDEST = """() => Math.max(...[document.querySelector(".contentview pre"),
  ...document.querySelectorAll(".contentview pre > div")]
  .map((each) => each.scrollWidth - each.clientWidth))"""


def test_lines_fit_in_a_narrow_window(
    browser: Browser, web: Mitmweb, provider: Provider
) -> None:
    script = provider.script(OPENING, word("Mill" * 50), SPLIT, DONE)
    web.ask(script.path, ASKED)
    with page_of(browser, web.page) as page:
        show(page, script.path)
        for view, seen in (
            ("before/after", "1 chunk became 2"),
            ("transcript", "text:"),
        ):
            choose(page, view)
            sees(page, seen)
            for width in (1280, 700):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate(WIDEST) <= 0, (view, width)
                keep(page, f"{view.partition('/')[0]}-{width}")


def test_own_pages_do_not_fill_the_list_of_flows(
    browser: Browser, provider: Provider, mitm_ca: Path, tmp_path: Path
) -> None:
    script = provider.script(*STREAM)
    with Mitmweb(tmp_path, mitm_ca, *to(provider)) as web:
        own = f"http://{LOOPBACK}:{web.port}/llm-normalize/"
        with page_of(browser, own) as page:
            page.get_by_role("link", name="The fixes").click()
            expect(page.locator("h1")).to_have_text("The fixes")
        web.ask(script.path, ASKED)
        with page_of(browser, web.page) as page:
            expect(page.locator("td.col-path")).to_have_count(1)
            expect(page.locator("td.col-path")).to_contain_text(script.path)
