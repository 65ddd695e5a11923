"""The peers and their clients: started once, asked once."""

import pytest

import environments
from clients.missing_environment import needed
from peers import stage


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> stage.Played:
    with needed("a peer or a client"):
        return stage.play(tmp_path_factory.mktemp("peers"))


@pytest.fixture(scope="session")
def seen(played: stage.Played) -> dict[stage.Key, stage.Seen]:
    return played.seen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if environments.NOTES:
        terminalreporter.section("peers: what was fetched and made")
        for line in environments.NOTES:
            terminalreporter.write_line(line)
