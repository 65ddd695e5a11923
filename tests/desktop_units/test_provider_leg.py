"""The check's last step: the provider, through the proxy that runs."""

from pathlib import Path

import pytest

from llm_normalize.check import provider_leg
from llm_normalize.check.finding import Mark, Way
from llm_normalize.routing.hosts import adding
from ports import free_port
from support import Mitmdump, Provider


@pytest.mark.parametrize("is_trusted", [True, False])
def test_provider_is_asked_through_the_proxy(
    is_trusted: bool,
    secure: dict[str, Provider],
    provider_ca: Path,
    mitm_ca: Path,
    tmp_path: Path,
) -> None:
    place = f"localhost:{secure['http/1.1'].port}"
    options = {"normalize_hosts": place}
    if is_trusted:
        options["ssl_verify_upstream_trusted_ca"] = str(provider_ca)
    with Mitmdump(tmp_path, mitm_ca, options=options) as proxy:
        way = Way("127.0.0.1", proxy.port, (place,))
        found = provider_leg.judge(way, f"https://{place}/v1", proxy.ca)
        if is_trusted:
            assert found.mark is Mark.OK
            assert f"{place} answers through it, with status " in found.saw
            return
        assert found.mark is Mark.FAIL
        unknown = f"No answer from {place}: its certificate is from an unknown CA ("
        assert found.saw.startswith(unknown)
        assert found.repair.startswith(
            "Add that CA to the system's store, or to a file"
        )
        assert found.repair.endswith("as its option ssl_verify_upstream_trusted_ca")
        assert f": {unknown}" in proxy.printed()


def test_without_a_proxy_it_is_skipped() -> None:
    found = provider_leg.judge(None, "https://a.test/v1", Path("/none"))
    assert (found.mark, found.saw) == (
        Mark.SKIP,
        "no proxy runs by which a.test:443 can be asked",
    )


@pytest.mark.parametrize(
    ("base", "named"),
    [("https://a.test/v1", "a.test"), ("http://a.test:8000", "a.test:8000")],
)
def test_host_that_is_not_opened_fails(base: str, named: str) -> None:
    found = provider_leg.judge(Way("127.0.0.1", 1, ("b.test",)), base, Path("/none"))
    assert found.mark is Mark.FAIL
    assert found.repair == f"start the proxy with {adding(named, ['b.test'])}"


def test_proxy_that_does_not_answer_fails() -> None:
    way = Way("127.0.0.1", 1, ("a.test",))
    found = provider_leg.judge(way, "https://a.test/v1", Path("/none"))
    assert found.mark is Mark.FAIL
    assert "a.test:443 cannot be asked: " in found.saw


def test_provider_that_the_proxy_does_not_reach_fails_with_what_to_do(
    mitm_ca: Path, tmp_path: Path
) -> None:
    place = f"localhost:{free_port()}"
    with Mitmdump(tmp_path, mitm_ca, options={"normalize_hosts": place}) as proxy:
        way = Way("127.0.0.1", proxy.port, (place,))
        found = provider_leg.judge(way, f"https://{place}/v1", proxy.ca)
        proxy.wait_for(f"No answer from {place}: it refused the connection")
    assert found.mark is Mark.FAIL
    assert found.saw.endswith(f"the proxy cannot connect to {place}")
    assert "--upstream-proxy http://HOST:PORT" in found.repair
