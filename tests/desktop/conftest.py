"""Desktops to test with: folders, buses and stores of their own, never the user's."""

import signal
from collections.abc import Iterator

import pytest

from desktop.outside import Outside

# Who was started by nohup ignores it, and so would every program that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A provider and another host, with a mitmdump before them, for all that run."""
    with Outside(tmp_path_factory.mktemp("outside")) as started:
        yield started
