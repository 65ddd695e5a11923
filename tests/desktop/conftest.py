"""Desktops to test with: folders, buses and stores of their own, never the user's."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling, Scheduling

from desktop.outside import Outside

# Who was started by nohup ignores it, and so would every program that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

SHARING = ("test_client_node.py", "test_frozen.py", "test_packaging.py")
"""Files whose tests share what takes long to make."""
assert all(Path(__file__).with_name(name).exists() for name in SHARING)


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A provider and another host, with a mitmdump before them, for all that run."""
    with Outside(tmp_path_factory.mktemp("outside")) as started:
        yield started


class ByGroup(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Tests of a file that share what takes long to make go to one worker, others to any.

    With pytest 9.2, xdist 3.8 ignores its own mark for that (its issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file.endswith(SHARING) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> Scheduling | None:
    """Group tests where `--dist loadgroup` asks for it.

    pytest asks this only where this folder is on its command line.
    """
    return ByGroup(config, log) if config.getoption("dist") == "loadgroup" else None
