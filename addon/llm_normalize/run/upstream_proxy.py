"""The proxy that a network already has: its address, and its password, which nobody gets to see."""

import os
import urllib.parse
from collections.abc import Mapping
from typing import NamedTuple

from ..desktop.proxy import variables
from .start_error import StartError

FROM_ENVIRONMENT = "env:"


class UpstreamProxyError(StartError):
    """What is wrong with the address of the network's proxy, as one sentence."""


class Upstream(NamedTuple):
    """A proxy that everything is to go through.

    Attributes:
        url: Its address, without name and password.
        auth: "name:password" for it, or empty.
    """

    url: str
    auth: str = ""


def upstream(given: str, environ: Mapping[str, str]) -> Upstream:
    """Return what `--upstream-proxy` names: a URL, or `env:NAME` of one.

    Raises:
        UpstreamProxyError: It names none; the value is not quoted, for the password in it.
    """
    url, where = given, "--upstream-proxy"
    if given.startswith(FROM_ENVIRONMENT):
        name = given[len(FROM_ENVIRONMENT) :]
        where = f"the variable {name}"
        url = environ.get(name, "")
        if not url:
            raise UpstreamProxyError(f"--upstream-proxy: {where} is not set")
    parts = _parts(url)
    if parts is None:
        raise UpstreamProxyError(
            f"{where} is to be http://HOST:PORT or https://HOST:PORT"
        )
    scheme, place, auth = parts
    if auth and url is given:
        raise UpstreamProxyError(
            "--upstream-proxy has a password, which every program on this machine could "
            "read on the command line: put the URL into a variable, and give env:NAME"
        )
    return Upstream(f"{scheme}://{place}", auth)


def _parts(url: str) -> tuple[str, str, str] | None:
    """Return scheme, host:port and name:password of *url*, None if it is none."""
    is_whole = "://" in url
    try:
        split = urllib.parse.urlsplit(url if is_whole else "http://" + url)
        default = {"http": 80, "https": 443}[split.scheme]
        # A word alone is no address, whatever it was meant to be.
        port = split.port if split.port is not None or not is_whole else default
    except (KeyError, ValueError):
        return None
    host = split.hostname
    if (
        not host
        or not port
        or split.path not in {"", "/"}
        or split.query
        or split.fragment
    ):
        return None
    if set(host) & set(" \t'\"\\@"):
        return None
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if split.username is None:
        return split.scheme, place, ""
    name = urllib.parse.unquote(split.username)
    return split.scheme, place, f"{name}:{urllib.parse.unquote(split.password or '')}"


def address(url: str) -> str:
    """Return the host:port of a proxy's *url*, nothing secret; empty if it is none."""
    parts = _parts(url.strip())
    return parts[1] if parts else ""


def from_environment(environ: Mapping[str, str] = os.environ) -> str:
    """Return the host:port of the proxy that the variables name; empty for none."""
    for name in ("HTTPS_PROXY", "ALL_PROXY"):
        if found := address(variables.value(environ, name)):
            return found
    return ""
