from typing import Any, cast

import pytest
from mitmproxy.proxy.mode_specs import ProxyMode

from llm_normalize.exchange.state import open_exchanges
from llm_normalize.exchange.state.exchange import Exchange
from llm_normalize.exchange.state.open_exchanges import (
    OpenExchanges,
    is_on_selected_host,
)
from llm_normalize.routing.hosts import Hosts
from proxies import HOST, chat_flow

HOSTS = Hosts.parse([HOST, "a.test:8443"])
REVERSE = ProxyMode.parse("reverse:https://other.test")


class Opened(OpenExchanges):
    """Open exchanges that note which of them were never ended."""

    def __init__(self) -> None:
        super().__init__(self._abandoned)
        self.hosts = HOSTS
        self.abandoned: list[Exchange] = []

    def _abandoned(self, exchange: Exchange) -> None:
        self.abandoned.append(exchange)
        self.close(exchange)


# -- which flows are selected ------------------------------------------------------


@pytest.mark.parametrize("mode", [ProxyMode.parse("regular"), REVERSE])
def test_a_flow_that_is_loaded_from_a_file_is_not_selected(mode: ProxyMode) -> None:
    made = chat_flow()
    made.client_conn.proxy_mode = mode
    made.live = False
    assert not is_on_selected_host(made, HOSTS)
    assert not Opened().begin(made).is_chat


@pytest.mark.parametrize("where", ["authority", "header", "scheme"])
def test_what_counts_is_looked_up_again_for_another_host(where: str) -> None:
    opened, made = Opened(), chat_flow(host="192.0.2.1")
    made.request.http_version = "HTTP/2.0" if where == "authority" else "HTTP/1.1"
    made.request.authority = made.request.headers["host"] = "192.0.2.1"
    exchange = opened.begin(made)
    exchange.settings = cast(Any, object())
    if where == "authority":
        made.request.data.authority = HOST.encode()
    elif where == "header":
        made.request.headers["host"] = HOST
    else:
        made.request.scheme = "http"
    assert opened.of(made).settings is None
    assert exchange.is_selected is (where != "scheme")


# -- one exchange for a flow -------------------------------------------------------


def test_what_is_never_ended_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_exchanges, "MAX_OPEN", 2)
    opened, flows = Opened(), [chat_flow() for _ in range(3)]
    first, second, third = map(opened.begin, flows)
    assert opened.abandoned == [first]
    assert [*opened] == [second, third]
    again = opened.begin(flows[1])  # it is replayed
    assert opened.abandoned == [first, second]
    assert [*opened] == [third, again]
    opened.clear()
    assert [*opened] == []
