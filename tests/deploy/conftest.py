"""What is started once for the tests of deployment: a provider, instances, HAProxy."""

from collections.abc import Iterator

import pytest

import support
from deploy.rig import Rig
from workshop.deploy import haproxy, instances


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Four instances of one provider; HAProxy before the first two."""
    folder = tmp_path_factory.mktemp("rig")
    with (
        support.Provider() as provider,
        instances.running(4, folder, f"http://127.0.0.1:{provider.port}") as made,
        haproxy.Haproxy(folder, [each.port for each in made[:2]]) as balancer,
    ):
        yield Rig(provider, made, balancer)
