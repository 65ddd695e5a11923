"""One mitmdump for all faults that it outlives, and others for those it does not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.held import SCRIPT, Held
from faults.rig import Rig
from support import Mitmdump, Provider, forward_proxy, starting, to


@pytest.fixture(scope="session")
def reverse(reverse: Mitmdump, provider: Provider) -> Rig:
    """A reverse proxy with the default options."""
    return Rig(reverse, provider)


@pytest.fixture(scope="session")
def holding(
    tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path, provider_ca: Path
) -> Iterator[Mitmdump]:
    """A forward proxy like that, in which a test can hold up what takes long."""
    folder = tmp_path_factory.mktemp("holding")
    with forward_proxy(folder, mitm_ca, provider_ca, scripts=[SCRIPT]) as mitmdump:
        yield mitmdump


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    """What goes on when the test says so, and at its end."""
    made = Held(tmp_path / "go-on")
    yield made
    made.go_on()


@pytest.fixture
def start(
    tmp_path: Path, mitm_ca: Path, provider: Provider
) -> Iterator[Callable[..., Rig]]:
    """Start a reverse proxy of the test's own; it ends with the test."""
    with starting(tmp_path, mitm_ca) as begin:
        yield lambda *args, **more: Rig(begin(*to(provider), *args, **more), provider)


@pytest.fixture(scope="session")
def to_provider(provider: Provider) -> tuple[str, str]:
    """Arguments for a reverse proxy."""
    return to(provider)


@pytest.fixture(autouse=True)
def somebody_else(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold every test to a bystander, save where mitmdump itself ends."""
    before = Rig.bystanders
    yield
    alone = request.node.get_closest_marker("alone")
    assert alone or Rig.bystanders > before, "the test has no bystander"
