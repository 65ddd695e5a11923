"""The proxy's pages in HTML, and those of them in plain text that are no files."""

import functools
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import jinja2

from ..routing.known_providers import base_of
from ..text.command_line import command_line, is_at_hand
from . import PREFIX, markdown_pages, trust_advice
from .markdown import blocks, spans
from .markdown_pages import Client
from .status import Facts
from .trust_advice import Advice

_HERE = Path(__file__).parent
_FIXES = ("fixes/README.md", "adaptations/README.md")
"""Catalogues: the page of all fixes has what is in them."""


class Fix(Protocol):
    """What is said of a fix, or of a change of requests.

    Attributes:
        name: Its name.
        changes: What it changes.
        why: What goes wrong without it.
    """

    name: str
    changes: str
    why: str


@dataclass(frozen=True)
class Visit:
    """Who looks at a page, and from where.

    Attributes:
        scheme: How it spoke to the proxy, `http` as a rule.
        address: Where it reached the proxy, as `host:port`.
        is_through: Whether it is known to have come through the proxy.
        agent: Its `User-Agent`.
        nonce: What lets the page's own script and style pass; new for each.
        is_local: Whether it is on this machine, and may know the counters.
        upstream: The provider's URL, if it reached a reverse proxy; empty for others.
    """

    scheme: str
    address: str
    is_through: bool
    agent: str
    nonce: str
    is_local: bool
    upstream: str = ""

    @property
    def root(self) -> str:
        """What precedes the paths of the pages."""
        return PREFIX if self.upstream else ""

    @property
    def base(self) -> str:
        """The proxy's own address, as a URL without a path."""
        return f"{self.scheme}://{self.address}"

    @property
    def base_url(self) -> str:
        """What clients of a reverse proxy set: with the provider's path, if it is known."""
        return self.base + urlsplit(base_of(self.upstream)).path

    def advice(self, confdir: str) -> Advice:
        """How its clients come to trust the CA, which is in *confdir* here."""
        if not self.is_local:
            return trust_advice.afar(self.base)
        return trust_advice.of(Path(confdir), self.base)


@functools.cache
def environment(folder: Path = _HERE) -> jinja2.Environment:
    """What makes pages of the templates in *folder*."""
    return jinja2.Environment(
        autoescape=jinja2.select_autoescape(("html.jinja",), default=False),
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(folder),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def html(visit: Visit, facts: Facts, clients: Sequence[Client]) -> str:
    """The home page for a browser."""
    log = facts.log and is_at_hand()
    return _show(
        "home.html.jinja",
        visit,
        facts=facts,
        clients=_ordered(visit, clients),
        documents=markdown_pages.documents(),
        report=command_line("report", facts.log, "-o", "report.html") if log else "",
        base_url=trust_advice.setting({"OPENAI_BASE_URL": visit.base_url}),
    )


def text(visit: Visit, facts: Facts, clients: Sequence[Client]) -> str:
    """The home page in plain text."""
    return _show("home.txt.jinja", visit, facts=facts, clients=_ordered(visit, clients))


def client(visit: Visit, chosen: Client, clients: Sequence[Client]) -> str:
    """The page for the *chosen* one of *clients*, in HTML."""
    every = {each.slug: each.name for each in _ordered(visit, clients)}
    return _document(visit, "clients", chosen.slug, chosen.text, every)


def document(visit: Visit, slug: str, *, is_html: bool) -> str | None:
    """The page of a document; None if there is none of that name."""
    every = {each.slug: each for each in markdown_pages.documents()}
    chosen = every.get(slug)
    if chosen is None or not is_html:
        return None if chosen is None else chosen.text
    titles = {each.slug: each.title for each in every.values()}
    return _document(visit, "docs", slug, chosen.text, titles)


def _document(
    visit: Visit, folder: str, slug: str, text: str, every: dict[str, str]
) -> str:
    """A page of Markdown, with links to *every* other one of its folder."""
    return _show(
        "document.html.jinja",
        visit,
        title=every.pop(slug),
        blocks=blocks(text.splitlines()),
        kind="documents" if folder == "docs" else folder,
        others=[(f"{visit.root}/{folder}/{each}", every[each]) for each in every],
        href=lambda url: _href(visit, url, folder, {slug, *every}),
    )


def fixes(visit: Visit, every: Sequence[Fix], *, is_html: bool) -> str:
    """The page of all fixes."""
    if is_html:
        return _show("fixes.html.jinja", visit, fixes=every, spans=spans)
    return "".join(f"{each.name}: {each.changes}\n" for each in every)


def message(visit: Visit, title: str) -> str:
    """A page that says one thing, in HTML."""
    return _show("message.html.jinja", visit, title=title)


def _ordered(visit: Visit, clients: Sequence[Client]) -> list[Client]:
    """Return *clients*, those that fit the asking program first."""
    return sorted(clients, key=lambda each: not each.fits(visit.agent))


def _show(template: str, visit: Visit, **more: Any) -> str:
    return environment().get_template(template).render(visit=visit, **more)


def _href(visit: Visit, url: str, folder: str, known: Container[str]) -> str:
    """Where a link of a page in *folder* leads on these pages; nothing for nowhere."""
    file, mark, anchor = url.partition("#")
    if url.startswith(("https://", "http://")):
        return url
    if folder == "clients":  # one file, each of whose sections is a page
        return f"/clients/{anchor}" if not file and anchor in known else ""
    name = file.removesuffix(".md")
    if name in known:
        return f"{visit.root}/docs/{name}{mark}{anchor}"
    if file.endswith(_FIXES):
        return f"{visit.root}/fixes"  # it has no sections
    if file.endswith("home/clients.md") and not visit.upstream:
        return f"/clients/{anchor}" if anchor else "/"
    return "" if file else url
