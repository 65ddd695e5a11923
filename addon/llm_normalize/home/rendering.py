"""The home page and the pages for clients, in HTML and in plain text."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from . import trust_advice
from .client_pages import Client
from .status import Facts
from .trust_advice import Advice

_HERE = Path(__file__).parent


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
    """

    scheme: str
    address: str
    is_through: bool
    agent: str
    nonce: str
    is_local: bool

    @property
    def base(self) -> str:
        """The proxy's own address, as a URL without a path."""
        return f"{self.scheme}://{self.address}"

    def advice(self, confdir: str) -> Advice:
        """How its clients come to trust the CA, which is in *confdir* here."""
        if not self.is_local:
            return trust_advice.afar(self.base)
        return trust_advice.of(Path(confdir), self.base)


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        autoescape=jinja2.select_autoescape(("html.jinja",), default=False),
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(_HERE),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def html(visit: Visit, facts: Facts, clients: Sequence[Client]) -> str:
    """The home page for a browser."""
    return _show("home.html.jinja", visit, facts=facts, clients=clients)


def text(visit: Visit, facts: Facts, clients: Sequence[Client]) -> str:
    """The home page in plain text."""
    return _show("home.txt.jinja", visit, facts=facts, clients=clients)


def client(visit: Visit, chosen: Client, clients: Sequence[Client]) -> str:
    """The page for the *chosen* one of *clients*, in HTML."""
    known = {each.slug for each in clients}
    return _show(
        "client.html.jinja",
        visit,
        client=chosen,
        clients=clients,
        href=lambda url: _href(url, known),
    )


def _show(
    template: str, visit: Visit, *, clients: Sequence[Client], **more: Any
) -> str:
    # Those that fit whoever asks come first.
    ordered = sorted(clients, key=lambda each: not each.fits(visit.agent))
    made = _environment().get_template(template)
    return made.render(visit=visit, clients=ordered, **more)


def _href(url: str, known: set[str]) -> str:
    """Where a link of the file leads on these pages; nothing for nowhere."""
    if url.startswith("#"):
        return f"/clients/{url[1:]}" if url[1:] in known else ""
    return url if url.startswith(("https://", "http://")) else ""
