"""Where requests go instead: `api.openai.com=https://integrate.api.nvidia.com/v1`.

A route may be for some models alone: `api.openai.com/gpt-*=https://…`. Clients that have a host wired in ask for OpenAI's paths below `/v1`; a route puts them
below the base of its target.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from ..text.network_address import PORTS, netloc
from .hosts import HostPattern
from .model_names import fits

WORKERS_AI = "workers-ai:"
"""What a target begins with that speaks a protocol of its own."""

_ROOT = re.compile(r"/v1(?=/|\?|$)")
_VERSION = re.compile(r"(?:api/)?v\d+/?\Z")  # a base path, and no model


def is_reverse(mode: mode_specs.ProxyMode) -> bool:
    """Tell whether a client connected to a reverse proxy."""
    return isinstance(mode, mode_specs.ReverseMode)


def shown(text: str) -> str:
    """Return a URL, or a route, without what may be a key in it."""
    return re.sub(r"[?#].*", "?***", re.sub(r"//.*@", "//***@", text), flags=re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes.

    Attributes:
        scheme: `http` or `https`.
        host: The host.
        port: The port.
        base: The path before what was asked for, without a slash at its end.
        is_workers_ai: Whether its API is that of Workers AI, with one path for each model.
    """

    scheme: str
    host: str
    port: int
    base: str
    is_workers_ai: bool = False

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Return the target that *text* spells.

        Raises:
            ValueError: It spells none; the message says why.
        """
        is_workers_ai = text.startswith(WORKERS_AI)
        url = text.removeprefix(WORKERS_AI)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"invalid URL {shown(url)!r} ({error})") from None
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError(f"invalid URL {shown(url)!r}: expected https://host/base")
        if parts.username or parts.password:
            raise ValueError("a key belongs in normalize_keys, not in the URL")
        if parts.query or parts.fragment:
            raise ValueError(f"{shown(url)!r} has more than a base path")
        if not re.fullmatch(r"[\x21-\x7e]*", url):
            raise ValueError(f"{shown(url)!r} has characters that a URL may not have")
        base = parts.path.rstrip("/")
        found = port or PORTS[parts.scheme]
        return cls(parts.scheme, parts.hostname, found, base, is_workers_ai)

    @property
    def netloc(self) -> str:
        """The host, and the port where it is not the scheme's own."""
        return netloc(self.scheme, self.host, self.port)

    def path(self, asked: str) -> str:
        """Return the path for what was *asked* for: `/v1` is the client's base."""
        root = _ROOT.match(asked)
        return self.base + (asked[root.end() :] if root else asked)

    def __str__(self) -> str:
        prefix = WORKERS_AI if self.is_workers_ai else ""
        return f"{prefix}{self.scheme}://{self.netloc}{self.base}"


@dataclass(slots=True)
class Routed:
    """A request that has a route.

    Attributes:
        scheme: As its client sent it, like the next four.
        host: The host.
        port: The port.
        path: The path, with its query.
        host_header: The `Host`, if there was one.
        target: Where it goes instead.
    """

    scheme: str
    host: str
    port: int
    path: str
    host_header: str | None
    target: Target

    @classmethod
    def send(cls, request: http.Request, target: Target) -> Self:
        """Send *request* to *target*, and return where its client sent it."""
        made = cls(
            request.scheme,
            request.host,
            request.port,
            request.path,
            request.host_header,
            target,
        )
        request.scheme = target.scheme
        request.host = target.host
        request.port = target.port
        request.path = target.path(request.path)
        request.host_header = target.netloc
        return made

    def restore(self, request: http.Request) -> None:
        """Let *request*, which is over, show where its client sent it."""
        request.scheme, request.host = self.scheme, self.host
        request.port, request.path = self.port, self.path
        request.host_header = self.host_header

    def state(self) -> list[str | int | None]:
        """Return it in types that mitmproxy saves."""
        asked = (self.scheme, self.host, self.port, self.path, self.host_header)
        return [*asked, str(self.target)]

    @classmethod
    def of_state(cls, state: list[Any]) -> Self:
        """The route with this `state`."""
        scheme, host, port, path, host_header, target = state
        return cls(scheme, host, port, path, host_header, Target.parse(target))


class Route(NamedTuple):
    """Where requests to a host go, or those for some of its models.

    Attributes:
        host: The host.
        target: Where they go.
        model: A pattern of the models that it is for; empty for all.
    """

    host: HostPattern
    target: Target
    model: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the route that *text* spells.

        Raises:
            ValueError: It spells none; the message names it.
        """
        asked, equals, url = text.partition("=")
        host, slash, model = (part.strip() for part in asked.partition("/"))
        try:
            if not equals:
                raise ValueError("expected host=https://host/base")  # noqa: TRY301
            if slash and (not model or model.startswith("/") or _VERSION.match(model)):
                raise ValueError("expected a host or host/model-pattern, not a URL")  # noqa: TRY301
            return cls(HostPattern.parse(host), Target.parse(url.strip()), model)
        except ValueError as error:
            raise ValueError(f"{shown(text)!r}: {error}") from None

    @property
    def asked(self) -> str:
        """What is asked for, as it is given."""
        return f"{self.host}/{self.model}" if self.model else str(self.host)

    @property
    def stays(self) -> bool:
        """Whether it leads to its own host, where its requests are in another form.

        It is not a loop: a request takes one route.
        """
        is_own = self.host.matches(self.target.host, self.target.port)
        return is_own and (self.target.is_workers_ai or bool(self.model))

    def __str__(self) -> str:
        return f"{self.asked}={self.target}"


@dataclass(frozen=True, slots=True)
class Routes:
    """All routes, the first that fits counts."""

    routes: Sequence[Route] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Routes":
        """Return the routes that *texts* spell.

        Raises:
            ValueError: One of them spells none, or leads to a host that has a route
                itself; the message names it.
        """
        made = cls([Route.parse(text) for text in texts])
        for route in made.routes:
            target = route.target
            if made.has(target.host, target.port) and not route.stays:
                raise ValueError(f"'{route}' is a loop: its target has a route itself")
        return made

    def _of(self, host: str | None, port: int | None) -> Iterator[Route]:
        """Yield the routes of *host*."""
        if host:
            yield from (each for each in self.routes if each.host.matches(host, port))

    def has(self, host: str | None, port: int | None) -> bool:
        """Tell whether any requests to *host* go somewhere else."""
        return any(True for _ in self._of(host, port))

    def by_model(self, host: str | None, port: int | None) -> bool:
        """Tell whether it is for the model to say where requests to *host* go."""
        return any(each.model for each in self._of(host, port))

    def target(self, host: str | None, port: int | None, *models: str) -> Target | None:
        """Return where requests to *host* go, None if that is where they go.

        Args:
            host: The host.
            port: Its port.
            models: Names of the model that is asked for, if one is known.
        """
        return next(
            (
                each.target
                for each in self._of(host, port)
                if not each.model or any(fits(each.model, name) for name in models)
            ),
            None,
        )

    def names(self, host: str | None, port: int | None) -> list[tuple[str, str]]:
        """Return the patterns of models of *host*, and who serves them."""
        found = [each for each in self._of(host, port) if each.model]
        return [(each.model, each.target.host) for each in found]
