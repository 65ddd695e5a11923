"""Fixtures for clients behind TLS and CONNECT, in each version of HTTP."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import Http1Client, Http2Client, Mitmdump, Provider, starting, tunnelled


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


@pytest.fixture
def client(
    proxy: Mitmdump, upstream: Provider, secure: dict[str, Provider]
) -> Iterator[Http1Client | Http2Client]:
    """A client behind CONNECT and TLS, in the version of HTTP that its provider lacks.

    In the same version there is one in `test_clock.new_client` and in tests of faults.
    """
    (protocol,) = (each for each in secure if secure[each] is not upstream)
    with tunnelled(proxy, f"localhost:{upstream.port}", protocol) as made:
        yield made


@pytest.fixture
def start(
    tmp_path: Path, mitm_ca: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Mitmdump]]:
    """Start a mitmdump of the test's own, with a key and a token in its environment."""
    monkeypatch.setenv("A_KEY", "nvapi-canary-4711")
    monkeypatch.setenv("A_TOKEN", "token-canary-0815")
    with starting(tmp_path, mitm_ca) as begin:
        yield begin
