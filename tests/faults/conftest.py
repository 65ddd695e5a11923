"""One mitmdump for all faults that it outlives, and others for those it does not."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("faults.play", "faults.stage", "faults.memory")

from faults.held import SCRIPT, Held  # noqa: E402 - with the asserts rewritten
from faults.stage import Stage  # noqa: E402
from support import (  # noqa: E402
    LOOPBACK,
    Mitmdump,
    Provider,
    forward_proxy,
)


@pytest.fixture(scope="session")
def reverse(
    tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path, provider: Provider
) -> Iterator[Stage]:
    """A reverse proxy with the default options."""
    folder = tmp_path_factory.mktemp("reverse")
    with Mitmdump(folder, mitm_ca, *to(provider)) as mitmdump:
        yield Stage(mitmdump, provider)


@pytest.fixture(scope="session")
def explicit(
    tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path, provider_ca: Path
) -> Iterator[Mitmdump]:
    """A forward proxy for which `localhost` is a provider."""
    folder = tmp_path_factory.mktemp("explicit")
    with forward_proxy(folder, mitm_ca, provider_ca) as mitmdump:
        yield mitmdump


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
) -> Iterator[Callable[..., Stage]]:
    """Start a reverse proxy of the test's own; it ends with the test."""
    started: list[Mitmdump] = []

    def begin(*args: str, **more: Any) -> Stage:
        folder = tmp_path / f"mitmdump{len(started)}"
        folder.mkdir()
        mitmdump = Mitmdump(folder, mitm_ca, *to(provider), *args, **more)
        started.append(mitmdump)
        return Stage(mitmdump.__enter__(), provider)

    yield begin
    for each in started:
        each.stop()


@pytest.fixture(scope="session")
def to_provider(provider: Provider) -> tuple[str, str]:
    """Arguments for a reverse proxy."""
    return to(provider)


def to(provider: Provider) -> tuple[str, str]:
    return "--mode", f"reverse:http://{LOOPBACK}:{provider.port}"


@pytest.fixture(autouse=True)
def somebody_else(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold every test to a bystander, save where mitmdump itself ends."""
    before = Stage.bystanders
    yield
    alone = request.node.get_closest_marker("alone")
    assert alone or Stage.bystanders > before, "the test has no bystander"
