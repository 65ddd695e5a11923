import gc
import importlib
import os
import pkgutil
import signal
from collections.abc import Generator, Iterator
from itertools import batched
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import llm_normalize
from measured import Tracers, traced_by, unmeasured
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
TRACERS = pytest.StashKey[Tracers]()
WAITING = {"client", "demo", "doctor", "end_to_end", "faults", "run", "workshop"}
"""Folders of tests that wait for processes."""
FIRST = "gw0"
"""The worker that measures what the package runs as it is imported."""
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
    parser.addoption(
        "--unmeasured",
        action="append",
        default=[],
        metavar="PATH",
        help="measure no coverage while tests in PATH run, which is several times quicker",
    )


def is_measured(item: pytest.Item) -> bool:
    """Tell whether coverage rests on a test: what is drawn differs each time."""
    paths = item.config.getoption("unmeasured")
    return not (
        item.get_closest_marker("hypothesis")
        or item.get_closest_marker("unmeasured")
        or any(item.nodeid.startswith(path) for path in paths)
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    # What is collected stays to the end: looking through it is half of the time.
    gc.disable()
    try:
        if not session.config.getoption("cov_source", None):
            return (yield)
        if os.environ.get("PYTEST_XDIST_WORKER", FIRST) != FIRST:
            with unmeasured():
                return (yield)
        # What the package runs as it is imported is measured, once; collecting is not.
        for each in pkgutil.walk_packages(llm_normalize.__path__, "llm_normalize."):
            if not each.name.endswith("__main__"):
                importlib.import_module(each.name)
        with unmeasured():
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


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, Any, Any]:
    # What pytest itself does for each of thousands of tests is not measured, either.
    if not session.config.getoption("cov_source", None):
        return (yield)
    with unmeasured() as session.stash[TRACERS]:
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    if TRACERS not in item.session.stash or not is_measured(item):
        return (yield)
    with traced_by(item.session.stash[TRACERS]):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
    session = request.session
    is_of_one = isinstance(request.node, pytest.Item) and is_measured(request.node)
    if TRACERS not in session.stash or not is_of_one:
        return (yield)
    with traced_by(session.stash[TRACERS]):
        return (yield)


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
