"""Which hosts are opened and repaired, and the patterns that name hosts."""

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..text.network_address import address
from .known_providers import HOSTS

KNOWN = "known-providers"
"""Stands for those of `known_providers` in a list of hosts."""

CHAT_ONLY = ("integrate.api.nvidia.com", "ai.api.nvidia.com", "*.api.nvcf.nvidia.com")
"""Of those, the ones known to serve no other protocol: the others say so when asked."""
BY_TEMPLATE = CHAT_ONLY
"""Those that take parameters for the template of a model: `chat_template_kwargs`."""


def is_openai(host: str) -> bool:
    """Tell whether *host* is OpenAI's own API, in any of its regions."""
    name = host.rstrip(".").lower()
    return name == "api.openai.com" or name.endswith(".api.openai.com")


_NAME_IN_PATH = r"[\w~@:+-][\w.~@:+-]*"
_VERSIONED = rf"(?:/(?!v\d){_NAME_IN_PATH})*/v\d[\w.-]*(?:/openai)?"
BASE = (
    rf"{_VERSIONED}|/openai/deployments/{_NAME_IN_PATH}"
    rf"|(?:/orgs/{_NAME_IN_PATH})?/inference"
    r"|(?:/(?:api|beta|models|openai|serving-endpoints))?"
)
"""Base paths of APIs, as a pattern.

They end with their version, behind which the paths of resources begin. Those without one
are known: behind any other path, a resource may be served.
"""
_VERTEX = r"/v1\w*/projects/[^/]+/locations/[^/]+/endpoints/[^/]+"
_GATEWAY = (
    rf"/v1/[^/]+/[^/]+(?:/azure-openai/[^/]+/[^/]+|/google-vertex-ai{_VERTEX}"
    rf"|/(?!v\d)[^/]+|{_VERSIONED})"
)

OTHER_BASES = (
    ("ai.api.nvidia.com", r"/v1/(?:gr|vlm)/[^/]+/[^/]+"),
    ("*.nvcf.nvidia.com", r"/v2/nvcf/pexec/functions/[^/]+/v1"),
    ("api.cloudflare.com", r"/client/v4/accounts/[^/]+/ai/v1"),
    ("gateway.ai.cloudflare.com", _GATEWAY),
    ("*.googleapis.com", _VERTEX),
    ("ark.*.volces.com", r"/api/v3/(?:bots|batch)"),
    ("ark.*.bytepluses.com", r"/api/v3/(?:bots|batch)"),
    ("qianfan.baidubce.com", r"/v2/(?:coding|ai_search)"),
    ("*.aliyuncs.com", r"/api/v2/apps/(?:protocols/compatible-mode|anthropic)/v1"),
    ("hyper.charm.land", r"/api/v1/fantasy"),
    ("api.runpod.ai", r"/v2/[^/]+/openai/v1"),
    ("*.snowflakecomputing.com", r"/api/v2/cortex/v1"),
)
"""Base paths that go on behind a version, as patterns, by host."""

_LONGEST = 255  # characters of a host's name

# A label of a name, one star for any, or an IPv6 address.
_LABEL = re.compile(r"\*|[a-z0-9_-]+|[0-9a-f]*:[0-9a-f:.]+")


@dataclass(frozen=True)
class HostPattern:
    """`host`, `*.host` or `host:port`; `*` within a name stands for one label.

    Attributes:
        labels: The labels of the name, lower case, the last first.
        open_start: Whether any number of labels may stand before them.
        port: The port; None for any.
    """

    labels: tuple[str, ...]
    open_start: bool
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "HostPattern":
        """Return the pattern that *text* spells.

        Raises:
            ValueError: It spells none; the message says why.
        """
        text = text.strip()
        if "/" in text:
            raise ValueError("expected a host, not a URL")
        name, colon, port = text.rpartition(":")
        # An IPv6 address has colons of its own; with a port it stands in brackets.
        if not colon or port.endswith("]") or (":" in name and not name.endswith("]")):
            name, port = text, ""
        if port and not (port.isascii() and port.isdigit() and int(port) < 65536):  # noqa: PLR2004
            raise ValueError(f"invalid port {port!r}: expected 0 to 65535")
        name = name.strip("[]").rstrip(".").lower()
        open_start = name.startswith("*.")
        labels = name.removeprefix("*.").split(".") if ":" not in name else [name]
        if labels == ["*"] or not all(map(_LABEL.fullmatch, labels)):
            raise ValueError(
                "expected `host`, `*.host` or `host:port`, one for each value of the list"
            )
        return cls(tuple(reversed(labels)), open_start, int(port) if port else None)

    def __str__(self) -> str:
        name = ".".join(reversed(self.labels))
        return f"{'*.' if self.open_start else ''}{address(name, self.port)}"

    def matches(self, host: str, port: int | None) -> bool:
        """Tell whether *host* and *port* are meant."""
        if self.port is not None and self.port != port:
            return False
        host = host.rstrip(".").lower()
        labels = [host] if ":" in host else host.split(".")[::-1]
        more = len(labels) - len(self.labels)
        is_as_long = more > 0 if self.open_start else more == 0
        return is_as_long and all(
            mine in ("*", its) for mine, its in zip(self.labels, labels, strict=False)
        )


def adding(name: str, opened: Sequence[str]) -> str:
    """Return the arguments by which a host is repaired beside those *opened* now."""
    if set(HOSTS) <= {*opened}:
        opened = [KNOWN, *(each for each in opened if each not in HOSTS)]
    return " ".join(f"--set normalize_hosts={each}" for each in (*opened, name))


class Hosts:
    """The hosts whose traffic is opened and repaired.

    They do not change: an option that changes makes others.

    Attributes:
        patterns: What names them.
    """

    def __init__(self, patterns: Iterable[HostPattern] = ()) -> None:
        self.patterns = tuple(patterns)

    @classmethod
    def parse(cls, texts: Sequence[str]) -> "Hosts":
        """Return the hosts that *texts* spell.

        Raises:
            ValueError: One of them spells none; the message names it.
        """
        patterns: list[HostPattern] = []
        for text in texts:
            try:
                names = HOSTS if text.strip() == KNOWN else [text]
                patterns += map(HostPattern.parse, names)
            except ValueError as error:
                raise ValueError(f"{text!r}: {error}") from None
        return cls(patterns)

    def include(self, host: str | None, port: int | None) -> bool:
        """Tell whether *host* is one of them."""
        is_name = host is not None and 0 < len(host) <= _LONGEST
        return is_name and _include(self, host, port)


@functools.lru_cache(maxsize=256)  # clients choose the names
def _include(hosts: Hosts, host: str, port: int | None) -> bool:
    return any(each.matches(host, port) for each in hosts.patterns)
