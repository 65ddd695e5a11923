"""The peers and their clients: started once, asked once."""

import os

import pytest

import environments
from clients import programs
from environments import EnvironmentLackingError
from peers import sources, stage


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> stage.Played:
    environments.prune(programs.folders() | sources.folders())
    try:
        return stage.play(tmp_path_factory.mktemp("peers"))
    except EnvironmentLackingError as error:
        reason = f"a peer or a client cannot be had: {error}"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def seen(played: stage.Played) -> dict[stage.Key, stage.Seen]:
    return played.seen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if environments.NOTES:
        terminalreporter.section("peers: what was fetched and made")
        for line in environments.NOTES:
            terminalreporter.write_line(line)
