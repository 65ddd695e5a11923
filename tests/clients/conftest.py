"""The servers for the client tests, and the table at their end."""

from collections.abc import Iterator

import pytest

from clients.environments import runners
from clients.matrix import Matrix
from clients.servers import Provider, Proxy

MATRIX = pytest.StashKey[Matrix]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--clients-markdown",
        action="store_true",
        help="print the table of the client tests as Markdown",
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
def matrix(provider: Provider, proxy: Proxy, pytestconfig: pytest.Config) -> Matrix:
    made = Matrix(provider.url, proxy.url)
    pytestconfig.stash[MATRIX] = made
    return made


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    made = config.stash.get(MATRIX, None)
    if made is None:
        return
    markdown = config.getoption("--clients-markdown")
    terminalreporter.section("clients: without the addon -> with it")
    if not markdown:
        for runner in runners():
            for name, what in runner.clients.items():
                terminalreporter.write_line(f"{name}: {what}")
        terminalreporter.write_line("")
    for line in made.table(markdown=markdown):
        terminalreporter.write_line(line)
