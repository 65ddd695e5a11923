import gc
import signal
from collections.abc import Generator, Iterator
from itertools import batched
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support import (
    Mitmdump,
    Provider,
    copied_addon,
    forward_proxy,
    make_ca,
    server_context,
    to,
)

pytest.register_assert_rewrite(
    "faults.logs", "faults.scenario", "faults.rig", "faults.memory", "html_page"
)
WAITING = {"client", "demo", "doctor", "end_to_end", "faults", "run", "workshop"}
"""Folders of tests that wait for processes."""
RUN = 32
"""How many of them come in a row: fewer would start the fixtures of a file more often."""

# Whole streams are large to draw, and a busy machine is slow: neither is a failure. The
# same is drawn each time: a change is judged by itself, and `long` explores further.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long", settings.get_profile("suite"), derandomize=False, max_examples=10_000
)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-captures",
        action="store_true",
        help="write tests/captures/*/*/expected.sse anew; review the diff",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    # What is collected stays to the end: looking through it is half of the time.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # pytest itself puts tests with one fixture together
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # While all workers wait at once the cores are idle: tests that wait for processes come
    # in short runs, those of each file at an even pace, between those that compute, and
    # these alone are left for the end.
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting = [path for path in files if path.parent.name in WAITING]
    computing = [item for item in items if item.path.parent.name not in WAITING]
    due = {item: at / len(computing) for at, item in enumerate(computing)}
    for rank, path in enumerate(waiting):
        runs = [*batched(files[path], RUN)]
        for at, run in enumerate(runs):
            place = (at + rank / len(waiting)) / len(runs)
            due.update(dict.fromkeys(run, place * 0.9))
    items.sort(key=due.__getitem__)


@pytest.fixture
def signal_handlers() -> Iterator[None]:
    """Restore the handlers of signals to end, which the command sets."""
    names = ("SIGTERM", "SIGHUP", "SIGINT")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def addon(tmp_path: Path) -> Path:
    """A copy of the addon, to be changed."""
    return copied_addon(tmp_path)


@pytest.fixture
def captures() -> Path:
    return Path(__file__).parent / "captures"


@pytest.fixture(scope="session")
def mitm_ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with mitmproxy's CA, for all that run."""
    folder = tmp_path_factory.mktemp("mitm-ca")
    make_ca(folder, "mitmproxy")
    return folder


@pytest.fixture(scope="session")
def provider_ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CA of the providers behind TLS."""
    return make_ca(tmp_path_factory.mktemp("provider-ca"), "provider")


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(scope="session")
def secure(provider_ca: Path) -> Iterator[dict[str, Provider]]:
    """Providers behind TLS, by the protocol they speak."""
    made = {
        protocol: Provider(server_context(provider_ca.parent, "provider", [protocol]))
        for protocol in ("http/1.1", "h2")
    }
    yield made
    for each in made.values():
        each.close()


@pytest.fixture(scope="session")
def reverse(
    tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path, provider: Provider
) -> Iterator[Mitmdump]:
    """A server for clients that can set a base URL, with the default options."""
    folder = tmp_path_factory.mktemp("reverse")
    with Mitmdump(folder, mitm_ca, *to(provider)) as mitmdump:
        yield mitmdump


@pytest.fixture(scope="session")
def explicit(
    tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path, provider_ca: Path
) -> Iterator[Mitmdump]:
    """A forward proxy for which `localhost`, but not 127.0.0.1, is a provider."""
    folder = tmp_path_factory.mktemp("explicit")
    with forward_proxy(folder, mitm_ca, provider_ca) as mitmdump:
        yield mitmdump
