import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_normalize.exchange import unlisted_hosts
from proxies import Proxy, chat_flow, messages


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(tmp_path) as made:
        yield made


def ask(proxy: Proxy, host: str, path: str = "/v1/chat/completions") -> None:
    flow = chat_flow(host=host)
    flow.request.path = path
    flow.response = None
    proxy.addon.requestheaders(flow)


def test_a_host_that_is_not_listed_is_named_once_with_what_adds_it(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        ask(proxy, "models.acme.test")
    (line,) = messages(caplog)
    host = "models.acme.test"
    assert line.startswith(f"normalize: chat completions of {host} pass unrepaired")
    options = [each.removeprefix("normalize_hosts=") for each in line.split()[-3::2]]
    proxy.set(normalize_hosts=options)
    caplog.clear()
    ask(proxy, host)
    ask(proxy, "integrate.api.nvidia.com")  # still one of them
    assert messages(caplog) == []
    assert proxy.addon.options.hosts.include(host, 443)


def test_nothing_is_said_of_other_requests_and_of_hosts_without_end(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ask(proxy, "models.acme.test", "/v1/models")
    ask(proxy, "integrate.api.nvidia.com")
    assert messages(caplog) == []
    for number in range(2 * unlisted_hosts.HOSTS):
        ask(proxy, f"h{number}.test")
    assert len(messages(caplog)) == unlisted_hosts.HOSTS
