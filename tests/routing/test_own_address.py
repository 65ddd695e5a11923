from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Server
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.test import tflow

from llm_normalize.mitm.reverse_proxy import asked_host, remember_hosts
from llm_normalize.routing.own_address import is_cross_site, is_here, leads_back
from llm_normalize.text.network_address import is_loopback
from proxies import Listening

LOOPBACK = (
    *("localhost", "LocalHost.", "a.localhost", "ip6-localhost", "ip6-loopback"),
    *("127.0.0.1", "127.8.9.1"),
    *("::1", "[::1]", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "[::ffff:7f00:1]", "127.1"),
    *("2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "\uff11\uff12\uff17.1"),
)  # fmt: skip
ELSEWHERE = (
    *("", "8.8.8.8", "2001:db8::1", "::ffff:8.8.8.8", "evil.test", "127.0.0.1.evil.test"),
    *("localhost.evil.test", "evillocalhost", "127.0.0.1 evil.test", "192.0.2.254", "a" * 99),
    *("224.0.0.1", "ff02::1", "127.0.0.1\0", "999.0.0.1", "fe80::ffff%nowhere"),
)  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_has_many_spellings(host: str) -> None:
    assert is_loopback(host)
    assert is_here(host)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_other_hosts_are_elsewhere(host: str) -> None:
    assert not is_loopback(host)
    assert not is_here(host)


def test_this_machine_has_addresses_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("0.0.0.0", "[::]", "0"):
        assert not is_loopback(host)
        assert is_here(host)
    monkeypatch.setattr("socket.gethostname", lambda: "Box")
    assert [each for each in ("box", "BOX.", "box.local") if not is_here(each)] == []
    assert not is_here("box.evil.test")
    # A socket can be bound to an own address alone, as to any of the loopback's here.
    monkeypatch.setattr(
        "llm_normalize.routing.own_address.is_loopback", lambda _: False
    )
    assert is_here("127.0.0.1")
    assert not is_here("192.0.2.254")


@pytest.mark.parametrize(
    ("place", "protocol", "leads"),
    [
        (("127.1", 8080), "tcp", True),
        (("::ffff:127.0.0.1", 8080, 0, 0), "tcp", True),
        (("127.1", 8081), "tcp", False),
        (("a.test", 8080), "tcp", False),
        (("127.1", 8080), "udp", False),
        (("127.0.0.2", 8080), "tcp", False),  # another server may have that
        (("127.0.0.2", 8888), "tcp", True),
        (("localhost.", 8080), "tcp", True),
        (("0.0.0.0", 8080), "tcp", True),
        (None, "tcp", False),
    ],
)
def test_connection_to_an_own_port_leads_back(
    proxy_server: Proxyserver,
    monkeypatch: pytest.MonkeyPatch,
    place: Any,
    protocol: Any,
    leads: bool,
) -> None:
    listens = [("127.0.0.1", 8080), ("::", 8888, 0, 0)]
    monkeypatch.setattr(proxy_server, "servers", [Listening(*listens)])
    made = Server(address=place, transport_protocol=protocol)
    data = ServerConnectionHookData(server=made, client=tflow.tclient_conn())
    assert leads_back(data) is leads


def test_where_a_server_listens_is_asked_once_it_does(
    proxy_server: Proxyserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = Listening(("127.0.0.1", 8080))
    listening.is_running = False
    monkeypatch.setattr(proxy_server, "servers", [listening])
    made = Server(address=("127.0.0.1", 8080))
    data = ServerConnectionHookData(server=made, client=tflow.tclient_conn())
    assert not leads_back(data)
    listening.is_running = True
    assert leads_back(data)
    listening.listen_addrs = ()
    assert leads_back(data)


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ("a.test:8080", "a.test"),
        ("[::1]:80", "::1"),
        ("a.test", "a.test"),
        ("127.0.0.1 x", "127.0.0.1 x"),
        ("", ""),
    ],
)
def test_host_is_the_one_that_the_client_named(given: str, host: str) -> None:
    request = tflow.tflow().request
    request.host_header = given
    assert asked_host(request) == host


def test_host_is_known_although_mitmproxy_puts_another_in_its_place() -> None:
    remember_hosts()
    request = http.Request.make("GET", "http://up.test/")
    request.host_header = "a.test:8080"
    event = RequestHeaders(1, request, end_stream=True)
    stream: Any = None
    HttpStream.state_wait_for_request_headers(stream, event)
    request.host_header = "up.test"
    assert asked_host(request) == "a.test"


def test_browser_says_whether_a_page_of_another_site_asks() -> None:
    for said in ("cross-site", "same-site", "none, cross-site", "Cross-Site", "x"):
        assert is_cross_site({"sec-fetch-site": said})
    for said in ("none", "same-origin", ""):
        assert not is_cross_site({"sec-fetch-site": said})
