import logging
import re

import pytest

from llm_normalize.exchange import unlisted_hosts
from proxies import Proxy, chat_flow, messages


def ask(proxy: Proxy, host: str, path: str = "/v1/chat/completions") -> None:
    flow = chat_flow(host=host)
    flow.request.path = path
    flow.response = None
    proxy.addon.requestheaders(flow)


def added(line: str) -> list[str]:
    """Return what a line of the log sets `normalize_hosts` to."""
    return re.findall(r"--set normalize_hosts=(\S+)", line)


def test_a_host_that_is_not_listed_is_named_once_with_what_adds_it(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        ask(proxy, "models.acme.test")
    (line,) = messages(caplog)
    host = "models.acme.test"
    assert line.startswith(f"normalize: chat completions of {host} pass unrepaired")
    proxy.set(normalize_hosts=added(line))
    caplog.clear()
    ask(proxy, host)
    ask(proxy, "integrate.api.nvidia.com")  # still one of them
    assert messages(caplog) == []
    assert proxy.addon.options.hosts.include(host, 443)


@pytest.mark.parametrize(
    "opened",
    [["known-providers", "a.test", "b.test:8000"], ["integrate.api.nvidia.com"]],
)
def test_what_adds_a_host_keeps_those_that_were_added_before(
    proxy: Proxy, caplog: pytest.LogCaptureFixture, opened: list[str]
) -> None:
    proxy.set(normalize_hosts=opened)
    ask(proxy, "models.acme.test")
    (line,) = messages(caplog)
    assert added(line) == [*opened, "models.acme.test"]


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
