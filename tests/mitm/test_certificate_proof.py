from collections.abc import Iterator
from contextlib import closing

import pytest
from mitmproxy import connection, tls
from mitmproxy.proxy.context import Context
from mitmproxy.test import taddons, tflow

from llm_normalize.mitm.certificate_proof import demand, is_proven, remember
from proxies import connected


@pytest.fixture
def context() -> Iterator[taddons.context]:
    with taddons.context() as made, closing(made.master.event_loop):
        made.options.add_option("ssl_insecure", bool, False, "")
        yield made


def test_server_has_to_prove_the_name_that_it_was_connected_to_by() -> None:
    server = connection.Server(address=("A.test.", 443))
    server.sni = "other.test"
    demand(server, "A.test.")
    assert server.sni == "a.test"


@pytest.mark.parametrize(
    ("sni", "verify", "proven"),
    [
        ("", True, True),
        ("ADDRESS.", True, True),
        ("", False, False),
        ("other.test", True, False),
        ("x.address", True, False),
    ],
)
def test_name_is_proven_where_somebody_looked_at_the_certificate_for_it(
    context: taddons.context, sni: str, verify: bool, proven: bool
) -> None:
    made = tflow.tflow()
    assert not is_proven(made.server_conn, "address")
    connected(made, sni=sni, verify=verify)
    assert is_proven(made.server_conn, "address") is proven
    context.options.ssl_insecure = True
    assert not is_proven(made.server_conn, "address")


def test_nothing_is_proven_where_there_is_no_openssl(context: taddons.context) -> None:
    server = connection.Server(address=("a.test", 443))  # HTTP/3 has another TLS
    server.sni = "a.test"
    remember(tls.TlsData(server, Context(tflow.tclient_conn(), context.options)))
    assert not is_proven(server, "a.test")
