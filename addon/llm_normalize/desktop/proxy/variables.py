"""The proxy variables of a shell, as curl and Python read them."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ...text.network_address import PORTS, address

_SOCKS = dict.fromkeys(("socks", "socks4", "socks4a", "socks5", "socks5h"), 1080)
_ALL = PORTS | _SOCKS
_NO_HOST = frozenset(" \t'\"\\@")


class Address(NamedTuple):
    """A proxy's address.

    Attributes:
        scheme: How the proxy is spoken to.
        host: Its host, an IPv6 address without brackets.
        port: Its port.
        auth: "name:password" for it, or empty.
    """

    scheme: str
    host: str
    port: int
    auth: str = ""

    @property
    def is_http(self) -> bool:
        """Whether mitmproxy can go through it."""
        return self.scheme in PORTS

    @property
    def place(self) -> str:
        """Its host and port, nothing secret."""
        return address(self.host, self.port)

    @property
    def url(self) -> str:
        """Its URL, without name and password."""
        return f"{self.scheme}://{self.place}"


def parse(text: str) -> Address | None:
    """The proxy that *text* names, None if it names none.

    Without a scheme it is HTTP, and needs a port: a word alone is not an address, for
    programs differ in the port that they take, or refuse it.
    """
    text = text.strip()
    is_whole = "://" in text
    try:
        parts = urlsplit(text if is_whole else f"http://{text}")
        default = _ALL[parts.scheme] if is_whole else None
        port = parts.port if parts.port is not None else default
    except (KeyError, ValueError):
        return None
    host = parts.hostname
    has_more = parts.path not in {"", "/"} or parts.query or parts.fragment
    if not host or not port or has_more or _NO_HOST & {*host}:
        return None
    auth = ""
    if parts.username is not None:
        auth = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Address(parts.scheme, host, port, auth)


def spelled(environ: Mapping[str, str], name: str) -> str:
    """The spelling of a variable that counts: in lower case, if that is set."""
    return name.lower() if environ.get(name.lower()) else name


def value(environ: Mapping[str, str], name: str) -> str:
    """A variable's value, empty where it is not set."""
    return environ.get(spelled(environ, name)) or ""


def of_https(environ: Mapping[str, str]) -> Address | None:
    """The proxy that the variables name for https://, None if they name none.

    ALL_PROXY counts where HTTPS_PROXY is not set, whatever that is set to.
    """
    return parse(value(environ, "HTTPS_PROXY") or value(environ, "ALL_PROXY"))
