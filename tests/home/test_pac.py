"""The PAC file, run by a browser's own JavaScript."""

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from llm_normalize.home.pac import script, upstream
from llm_normalize.routing.hosts import HostPattern
from llm_normalize.routing.known_providers import HOSTS
from web import opened

pytestmark = pytest.mark.browser

PROXY = "127.0.0.1:8080"
THROUGH = f"PROXY {PROXY}; DIRECT"
PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@pytest.fixture(scope="module")
def engine() -> Iterator[Page]:
    with opened() as browser:
        yield browser.new_page()


def ways(engine: Page, pac: str, asked: list[tuple[str, str]]) -> list[str]:
    """Return what *pac* says of URLs and their hosts."""
    calls = f"{json.dumps(asked)}.map(function (each) {{ return FindProxyForURL(each[0], each[1]); }})"
    return list(engine.evaluate(f"(function () {{ {pac}; return {calls}; }})()"))


def of(*texts: str) -> list[HostPattern]:
    return [HostPattern.parse(text) for text in texts]


@pytest.mark.parametrize(
    ("url", "host", "goes"),
    [
        ("https://API.test./v1", "API.test.", True),
        ("https://api.test.evil.test/", "api.test.evil.test", False),
        ("https://user:8443@port.test/", "port.test", False),
        ("https://other.test/?https://port.test:8443/", "other.test", False),
        ("http://[fd00::7]/", "[fd00::7]", True),
        ("http://[fd00::7]:81/", "fd00::7", True),
        ("http://[fd00::8]:7/", "[fd00::8]", False),
        ("http://[fd00::8]:81/", "[fd00::8]", True),
        ("ftp://api.test/", "api.test", False),
        ("http://clear.test/", "clear.test", True),
        ("HTTPS://clear.test/", "clear.test", False),
        ("data:text/plain,api.test", "api.test", False),
    ],
)
def test_listed_hosts_go_through_and_no_others(
    engine: Page, url: str, host: str, goes: bool
) -> None:
    patterns = of(
        "api.test",
        "port.test:8443",
        "[fd00::7]",
        "[fd00::8]:81",
        "clear.test:80",
    )
    pac = script(patterns, PROXY)
    assert ways(engine, pac, [(url, host)]) == [THROUGH if goes else "DIRECT"]


NAME = st.sampled_from(["api", "a", "b", "test", "nvidia", "com", "_x", "x-y"])
LABEL = st.one_of(NAME, st.just("*"))
HOST = st.lists(NAME, min_size=1, max_size=4).map(".".join)
PORT = st.sampled_from([None, 0, 80, 443, 8443])
PATTERN = st.builds(
    lambda start, labels, port: (
        start + ".".join(labels) + ("" if port is None else f":{port}")
    ),
    st.sampled_from(["", "*."]),
    st.lists(LABEL, min_size=1, max_size=4).filter(lambda made: made[-1] != "*"),
    PORT,
)


@settings(
    max_examples=100,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)
@given(
    patterns=st.lists(PATTERN, max_size=4),
    asked=st.lists(
        st.tuples(st.sampled_from([*PORTS]), HOST, PORT, st.booleans()), max_size=20
    ),
)
def test_it_says_what_the_addon_does(
    engine: Page,
    patterns: list[str],
    asked: list[tuple[str, str, int | None, bool]],
) -> None:
    known = of(*patterns)
    urls, expected = [], []
    for scheme, host, port, loud in asked:
        name = host.upper() + "." if loud else host
        colon = "" if port is None else f":{port}"
        urls.append((f"{scheme}://{name}{colon}/", name))
        number = PORTS[scheme] if port is None else port
        meant = any(each.matches(host, number) for each in known)
        expected.append(THROUGH if meant else "DIRECT")
    assert ways(engine, script(known, PROXY), urls) == expected


@pytest.mark.parametrize(
    ("scheme", "host", "way"),
    [
        ("http", "up.test", "PROXY up.test:3128"),
        ("https", "up.test", "HTTPS up.test:3128"),
        ("http", "fd00::1", "PROXY [fd00::1]:3128"),
    ],
)
def test_behind_another_proxy_that_is_the_way_of_all_others(
    engine: Page, scheme: str, host: str, way: str
) -> None:
    pac = script(of("api.test"), "[::1]:8080", upstream(scheme, host, 3128))
    urls = [("https://api.test/", "api.test"), ("https://other.test/", "other.test")]
    assert ways(engine, pac, urls) == [f"PROXY [::1]:8080; {way}", way]


def test_old_engines_can_read_it() -> None:
    pac = script(of(*HOSTS), PROXY)
    code = re.sub(r"(?m)^//.*", "", re.sub(r'"[^"]*"', "0", pac))
    newer = r"=>|`|\b(let|const|class|for each|of)\b|\.(map|some|includes|endsWith|indexOf\([^)]*,)|===|,\s*[\]}]"
    assert not re.search(newer, code)
    assert pac.isascii()
