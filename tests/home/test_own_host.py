from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import tflow

from home.asking import asked
from llm_normalize.home.own_host import is_foreign, names_proxy
from llm_normalize.mitm.proxy_server import is_from_proxy

BASE = "http://127.0.0.1:8080"


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
    made = asked(here=here)
    made.request.host = host
    assert names_proxy(made) is named


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({}, False),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, False),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, True),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, True),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, True),
        ({"origin": BASE}, False),
        ({"origin": "HTTP://127.0.0.1:8080"}, False),
        ({"origin": "https://evil.test"}, True),
        ({"origin": "http://127.0.0.1:3000"}, True),
        ({"origin": "null"}, True),
    ],
)  # fmt: skip
def test_other_origins_are_foreign(headers: dict[str, str], foreign: bool) -> None:
    assert is_foreign(headers, BASE) is foreign


def test_proxy_knows_its_own_connections(proxy_server: Proxyserver) -> None:
    client = asked().client_conn
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
    proxy_server.connections["x"] = handler
    assert not is_from_proxy(client)
    outgoing.sockname = ("127.0.0.1", 50000)
    outgoing.peername = ("127.0.0.1", 8000)
    assert not is_from_proxy(client)  # the same port, but to somebody else
    outgoing.peername = ("127.0.0.1", 8080)
    assert is_from_proxy(client)
    client.peername = ("127.0.0.1", 50001)
    assert not is_from_proxy(client)
