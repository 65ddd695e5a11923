from types import SimpleNamespace
from typing import cast

import pytest
from mitmproxy import http, tls
from mitmproxy.options import Options
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from home.asking import asked
from llm_normalize.home.probe import HOST, Probe
from proxies import response_of

OTHER_MODES = ("reverse:http://up.test", "transparent", "socks5", "wireguard")


@pytest.mark.parametrize("path", ["/", "/x.svg", "/{}.svg/", "/{}", "/x{}.svg"])
def test_who_does_not_know_the_token_learns_nothing(path: str) -> None:
    probe = Probe()
    made = asked(path.format(probe.token), HOST)
    assert probe.answers(made)
    assert made.response is None
    assert made.error is not None
    assert made.error.msg == made.error.KILLED_MESSAGE


@pytest.mark.parametrize("mode", OTHER_MODES)
def test_other_modes_are_left_alone(mode: str) -> None:
    probe = Probe()
    made = asked(f"/{probe.token}.svg", HOST, mode=mode)
    assert not probe.answers(made)
    probe.connect(made)
    assert made.response is None
    assert not hello(probe, (HOST, 443), mode)[0]


def hello(
    probe: Probe, address: tuple[str, int] | None, mode: str = "regular"
) -> tuple[bool, bool]:
    """Tell whether it is the probe's, and whether the server would be asked."""
    client = tflow.tclient_conn()
    client.proxy_mode = ProxyMode.parse(mode)
    context = Context(client, Options())
    context.server.address = address
    context.server.tls = True
    named = cast(tls.ClientHello, SimpleNamespace(sni=HOST))
    reported = probe.client_hello(tls.ClientHelloData(context, named))
    return reported, context.server.tls


def test_probe_is_answered_without_asking_anybody() -> None:
    probe = Probe()
    assert probe.place == f"{HOST}/{probe.token}"
    assert len({Probe().token, probe.token, Probe().token}) == 3
    assert len(probe.token) >= 32
    assert hello(probe, (HOST, 443)) == (True, False)
    assert hello(probe, None) == (False, True)
    made = asked(f"/{probe.token}.svg", HOST)
    made.client_conn.timestamp_tls_setup = 1.0
    probe.connect(made)
    assert response_of(made).status_code == 200
    made.response = refused = http.Response.make(407)
    probe.connect(made)
    assert made.response is refused
    assert probe.answers(made)
    assert "trusts its CA" in (response_of(made).text or "")
