"""Fixtures for clients behind TLS and CONNECT, in each version of HTTP."""

from collections.abc import Iterator

import pytest

from support import Http1Client, Http2Client, Mitmdump, Provider, connect


@pytest.fixture(scope="module", params=["http/1.1", "h2"])
def upstream(request: pytest.FixtureRequest, secure: dict[str, Provider]) -> Provider:
    """A provider behind TLS, in each version of HTTP."""
    return secure[request.param]


@pytest.fixture(scope="module")
def proxy(explicit: Mitmdump) -> Mitmdump:
    """A forward proxy."""
    return explicit


@pytest.fixture
def bridged(proxy: Mitmdump) -> Iterator[None]:
    """Have it send a newline after each second of silence."""
    with proxy.options(normalize_keepalive=1):
        yield


@pytest.fixture(params=["http/1.1", "h2"])
def client(
    request: pytest.FixtureRequest, proxy: Mitmdump, upstream: Provider
) -> Iterator[Http1Client | Http2Client]:
    """A client behind CONNECT and TLS, in each version of HTTP."""
    target = f"localhost:{upstream.port}"
    tunnel = connect(proxy.port, tunnel=target, ca=proxy.ca, alpn=[request.param])
    kind = Http2Client if request.param == "h2" else Http1Client
    with kind(tunnel, target) as made:
        yield made
