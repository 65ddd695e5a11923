from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Server
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.test import taddons, tflow

from llm_normalize.routing.own_address import (
    asked_host,
    forget_hosts,
    is_cross_site,
    is_foreign,
    is_from_proxy,
    is_here,
    is_local,
    is_own_port,
    leads_back,
    names_proxy,
    remember_hosts,
)
from llm_normalize.text.loopback import is_loopback

BASE = "http://127.0.0.1:8080"


def flow(
    host: str = "127.0.0.1",
    port: int = 8080,
    here: tuple[Any, ...] = ("127.0.0.1", 8080),
    there: tuple[Any, ...] = ("127.0.0.1", 50000),
    headers: dict[str, str] | None = None,
) -> http.HTTPFlow:
    made = tflow.tflow()
    made.request.host, made.request.port = host, port
    made.client_conn.sockname = here
    made.client_conn.peername = there
    for name, value in (headers or {}).items():
        made.request.headers[name] = value
    return made


def test_port_is_the_one_that_the_client_is_connected_to() -> None:
    assert is_own_port(flow())
    assert not is_own_port(flow(port=80))


@pytest.mark.parametrize(
    ("host", "here", "named"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.8.9.10", "127.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("LocalHost.", "::1", True),
        ("::1", "::1", True),
        ("127.0.0.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.1", True),
        ("fd00::1", "fd00::1", True),
        ("192.0.2.2", "192.0.2.1", False),
        ("evil.test", "127.0.0.1", False),
        ("localhost.evil.test", "127.0.0.1", False),
        ("127.0.0.1.evil.test", "127.0.0.1", False),
        ("127.1", "127.0.0.1", False),
        ("0.0.0.0", "127.0.0.1", False),
        ("2130706433", "127.0.0.1", False),
        ("::ffff:127.0.0.1", "127.0.0.1", False),
        ("::1", "127.0.0.1", True),
        ("", "127.0.0.1", False),
    ],
)
def test_proxy_is_named_by_its_address_alone(host: str, here: str, named: bool) -> None:
    assert names_proxy(flow(host, here=(here, 8080))) is named


@pytest.mark.parametrize(
    ("there", "headers", "local"),
    [
        (("127.0.0.1", 1), {}, True),
        (("::1", 1, 0, 0), {}, True),
        (("::ffff:127.0.0.1", 1, 0, 0), {}, True),
        (("192.0.2.7", 1), {}, False),
        (("fe80::1%eth0", 1, 0, 2), {}, False),
        (("nonsense", 1), {}, False),
        (("127.0.0.1", 1), {"x-forwarded-for": "192.0.2.7"}, False),
        (("127.0.0.1", 1), {"forwarded": "for=192.0.2.7"}, False),
        (("127.0.0.1", 1), {"via": "1.1 squid"}, False),
        (("127.0.0.1", 1), {"X-Real-IP": "192.0.2.7"}, False),
        (("127.0.0.1", 1), {"X-Forwarded-Host": "a.test"}, False),
        (("127.0.0.1", 1), {"CF-Connecting-IP": "192.0.2.7"}, False),
        (("127.0.0.1", 1), {"True-Client-IP": "192.0.2.7"}, False),
        (("127.0.0.1", 1), {"x-other": "192.0.2.7"}, True),
    ],
)
def test_local_is_who_is_on_this_machine(
    there: tuple[Any, ...], headers: dict[str, str], local: bool
) -> None:
    assert is_local(flow(there=there, headers=headers)) is local


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({}, False),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, False),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, True),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, True),
        (
            {
                "sec-fetch-site": "cross-site",
                "sec-fetch-mode": "navigate",
                "sec-fetch-dest": "document",
            },
            False,
        ),
        (
            {
                "sec-fetch-site": "cross-site",
                "sec-fetch-mode": "navigate",
                "sec-fetch-dest": "iframe",
            },
            True,
        ),
        ({"origin": BASE}, False),
        ({"origin": "HTTP://127.0.0.1:8080"}, False),
        ({"origin": "https://evil.test"}, True),
        ({"origin": "http://127.0.0.1:3000"}, True),
        ({"origin": "null"}, True),
    ],
)
def test_pages_of_other_origins_are_foreign(
    headers: dict[str, str], foreign: bool
) -> None:
    assert is_foreign(headers, BASE) is foreign


@pytest.fixture
def server() -> Iterator[Proxyserver]:
    server = Proxyserver()
    with taddons.context(server) as context, closing(context.master.event_loop):
        yield server


def test_proxy_knows_its_own_connections(server: Proxyserver) -> None:
    client = flow(there=("127.0.0.1", 50000)).client_conn
    assert not is_from_proxy(client)
    outgoing = tflow.tserver_conn()
    other = tflow.tserver_conn()
    other.sockname = None
    unconnected = tflow.tserver_conn()
    unconnected.peername = None
    transports = {
        tflow.tclient_conn(): None,
        other: None,
        unconnected: None,
        outgoing: None,
    }
    handler: Any = SimpleNamespace(transports=transports)
    server.connections["x"] = handler
    assert not is_from_proxy(client)
    outgoing.sockname = ("127.0.0.1", 50000)
    outgoing.peername = ("127.0.0.1", 8000)
    assert not is_from_proxy(client)  # the same port, but to somebody else
    outgoing.peername = ("127.0.0.1", 8080)
    assert is_from_proxy(client)
    client.peername = ("127.0.0.1", 50001)
    assert not is_from_proxy(client)


def test_ipv4_within_ipv6_is_the_same_end_of_a_connection(server: Proxyserver) -> None:
    outgoing: Any = tflow.tserver_conn()
    outgoing.sockname = ("::ffff:127.0.0.1", 50000, 0, 0)
    outgoing.peername = ("::ffff:127.0.0.1", 8080, 0, 0)
    handler: Any = SimpleNamespace(transports={outgoing: None})
    server.connections["x"] = handler
    assert is_from_proxy(flow(there=("127.0.0.1", 50000)).client_conn)


LOOPBACK = (
    *(
        "localhost",
        "LocalHost.",
        "a.localhost",
        "ip6-localhost",
        "127.0.0.1",
        "127.8.9.1",
    ),
    *(
        "::1",
        "[::1]",
        "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1",
        "[::ffff:7f00:1]",
        "127.1",
    ),
    *("2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "\uff11\uff12\uff17.1"),
)
ELSEWHERE = (
    *(
        "",
        "8.8.8.8",
        "2001:db8::1",
        "::ffff:8.8.8.8",
        "evil.test",
        "127.0.0.1.evil.test",
    ),
    *(
        "localhost.evil.test",
        "evillocalhost",
        "127.0.0.1 evil.test",
        "192.0.2.254",
        "a" * 99,
    ),
    *("224.0.0.1", "ff02::1", "127.0.0.1\0", "999.0.0.1", "fe80::ffff%nowhere"),
)


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_has_many_spellings(host: str) -> None:
    assert is_loopback(host)
    assert is_here(host)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_other_hosts_are_elsewhere(host: str) -> None:
    assert not is_loopback(host)
    assert not is_here(host)


def test_this_machine_has_addresses_and_a_name_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
    server: Proxyserver,
    monkeypatch: pytest.MonkeyPatch,
    place: Any,
    protocol: Any,
    leads: bool,
) -> None:
    listens = [("127.0.0.1", 8080), ("::", 8888, 0, 0)]
    monkeypatch.setattr(server, "listen_addrs", lambda: listens)
    made = Server(address=place, transport_protocol=protocol)
    data = ServerConnectionHookData(server=made, client=tflow.tclient_conn())
    assert leads_back(data) is leads


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
    request = flow().request
    request.host_header = given
    assert asked_host(request) == host


def test_reload_replaces_what_remembers_hosts() -> None:
    remember_hosts()
    before: Any = HttpStream.state_wait_for_request_headers
    remember_hosts()
    after: Any = HttpStream.state_wait_for_request_headers
    assert after is not before
    assert after.__wrapped__ is before.__wrapped__


def test_mitmproxy_is_as_it_was_when_hosts_are_forgotten() -> None:
    remember_hosts()
    wrapped: Any = HttpStream.state_wait_for_request_headers
    for _ in range(2):
        forget_hosts()
        assert HttpStream.state_wait_for_request_headers is wrapped.__wrapped__


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
