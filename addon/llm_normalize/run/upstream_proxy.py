"""The proxy that a network already has: its address, and its password, which is never shown."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from ..desktop.proxy import variables
from .start_error import CallError

FROM_ENVIRONMENT = "env:"


class UpstreamProxyError(CallError):
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
    """The proxy that `--upstream-proxy` names: a URL, or `env:NAME` of one.

    Raises:
        UpstreamProxyError: It names none; the value is not quoted, for the password in it.
    """
    url, where = given, "--upstream-proxy"
    if given.startswith(FROM_ENVIRONMENT):
        name = given[len(FROM_ENVIRONMENT) :]
        where = f"variable {name}"
        url = environ.get(name, "")
        if not url:
            raise UpstreamProxyError(f"--upstream-proxy: the {where} is not set")
    found = variables.parse(url)
    if found is None or not found.is_http:
        raise UpstreamProxyError(
            f"invalid {where}: expected http://HOST:PORT or https://HOST:PORT"
        )
    if found.auth and url is given:
        raise UpstreamProxyError(
            "--upstream-proxy has a password, which every program on this machine could "
            "read on the command line: put the URL into a variable, and give env:NAME"
        )
    return Upstream(found.url, found.auth)


def from_environment(environ: Mapping[str, str] = os.environ) -> str:
    """Return the host:port of the proxy that the variables name; empty for none.

    Only proxies that speak HTTP count: mitmproxy cannot go through others.
    """
    found = variables.of_https(environ)
    return found.place if found is not None and found.is_http else ""
