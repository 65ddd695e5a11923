"""The servers for the client tests."""

from collections.abc import Iterator

import pytest

import environments
from clients.matrix import CLIENTS, Matrix
from clients.programs import wanted_in
from clients.servers import Provider, Proxy


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-table",
        action="store_true",
        help="write the tables of the client tests anew",
    )
    parser.addoption(
        "--update-types",
        action="store_true",
        help="write the forms of answers anew, from the pinned libraries' types",
    )


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    with Provider() as started:
        yield started


@pytest.fixture(scope="session")
def proxy(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    with Proxy(provider.url, tmp_path_factory.mktemp("mitmproxy")) as started:
        yield started


@pytest.fixture(scope="session")
def matrix(
    provider: Provider, proxy: Proxy, request: pytest.FixtureRequest
) -> Iterator[Matrix]:
    made = Matrix(provider.url, proxy.url)
    # All that will be wanted, at once: what is first to be tested waits no longer.
    wanted = wanted_in(request.session)
    made.start(client for client in CLIENTS if client in wanted)
    yield made
    made.programs.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if environments.NOTES:
        terminalreporter.section("clients: their environments")
        for line in environments.NOTES:
            terminalreporter.write_line(line)
