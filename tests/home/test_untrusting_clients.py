import logging
from pathlib import Path

import pytest
from mitmproxy import tls
from mitmproxy.options import Options
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from llm_normalize.home import trust_advice
from llm_normalize.home.untrusting_clients import HOSTS, OTHERS, Distrust
from proxies import messages

CONF = Path("/conf")


def fail(
    distrust: Distrust,
    sni: str | None,
    error: str | None = "unknown ca",
    mode: str = "regular",
) -> None:
    client = tflow.tclient_conn()
    client.sni, client.error = sni, error
    client.sockname, client.proxy_mode = ("::1", 8082), ProxyMode.parse(mode)
    context = Context(client, Options())
    context.server.address = ("192.0.2.1", 443)
    distrust.failed(tls.TlsData(client, context), CONF)


def test_refusals_are_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    distrust = Distrust()
    for sni in ("a.test", "b.test", "a.test", None):
        fail(distrust, sni)
    assert distrust.hosts == {"a.test": 2, "b.test": 1, "192.0.2.1": 1}
    assert len(messages(caplog)) == 3
    assert "/conf/mitmproxy-ca-cert.pem" in messages(caplog)[0].replace("\\", "/")


@pytest.mark.parametrize("mode", ["regular", "transparent"])
def test_the_line_says_what_helps(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    fail(Distrust(), "a.test", mode=mode)
    (line,) = messages(caplog)
    proxy = "http://[::1]:8082" if mode == "regular" else ""
    assert line.endswith(trust_advice.of(CONF, proxy).sentence)
    assert ("HTTPS_PROXY=" in line) == (mode == "regular")


def test_https_in_a_base_url_is_corrected(caplog: pytest.LogCaptureFixture) -> None:
    fail(Distrust(), None, mode="reverse:https://a.test")
    (line,) = messages(caplog)
    assert line.endswith(
        "To fix this: write http://, not https://, in its base URL: http://[::1]:8082 "
        "needs no certificate"
    )


def test_another_failure_is_no_refusal(caplog: pytest.LogCaptureFixture) -> None:
    distrust = Distrust()
    for error in (None, "The client disconnected."):
        fail(distrust, "a.test", error)
    assert not distrust.hosts
    assert messages(caplog) == []


def test_names_are_bounded_and_plain_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    distrust = Distrust()
    fail(distrust, "\x1b[2J" + "x" * 500)
    (name,) = distrust.hosts
    assert len(name) <= 200
    assert "\x1b" not in name
    for number in range(3 * HOSTS):
        fail(distrust, f"{number}.test")
    assert len(distrust.hosts) == HOSTS + 1
    assert distrust.hosts[OTHERS] == 2 * HOSTS + 1
    assert len(messages(caplog)) == HOSTS + 1
