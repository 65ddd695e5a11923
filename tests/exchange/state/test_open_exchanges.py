from typing import Any, cast

import pytest
from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode

from llm_normalize.exchange.state import open_exchanges
from llm_normalize.exchange.state.exchange import Exchange
from llm_normalize.exchange.state.open_exchanges import (
    OpenExchanges,
    is_on_selected_host,
)
from llm_normalize.routing.hosts import Hosts
from llm_normalize.routing.routes import Routed, Target
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


@pytest.mark.parametrize(
    ("host", "expected"),
    [(HOST, True), ("a.test:8443", True), ("a.test", False), ("other.test", False)],
)
def test_a_flow_is_selected_by_host_and_port(host: str, expected: bool) -> None:
    assert is_on_selected_host(chat_flow(host=host), HOSTS) is expected


@pytest.mark.parametrize("mode", [ProxyMode.parse("regular"), REVERSE])
def test_a_flow_that_is_loaded_from_a_file_is_not_selected(mode: ProxyMode) -> None:
    made = chat_flow()
    made.client_conn.proxy_mode = mode
    made.live = False
    assert not is_on_selected_host(made, HOSTS)
    assert not Opened().begin(made).is_chat


@pytest.mark.parametrize(
    ("host", "path", "method", "expected"),
    [
        (HOST, "/v1/chat/completions", "POST", True),
        (HOST, "/v1/chat/completions?a=b", "POST", True),
        (HOST, "/v1/chat/completions", "GET", False),
        (HOST, "/v1/models", "POST", False),
        ("other.test", "/v1/chat/completions", "POST", False),
    ],
)
def test_only_a_selected_chat_completion_is_ours(
    host: str, path: str, method: str, expected: bool
) -> None:
    made = chat_flow(host=host, path=path, method=method)
    assert Opened().begin(made).is_chat is expected


@pytest.mark.parametrize("where", ["authority", "header", "scheme"])
def test_what_counts_is_looked_up_again_where_a_request_goes_elsewhere(
    where: str,
) -> None:
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


def test_own_change_of_headers_is_taken_as_it_is() -> None:
    opened, made = Opened(), chat_flow()
    exchange = opened.begin(made)
    made.request.headers["accept-encoding"] = "identity"
    opened.note_head(exchange)
    assert [*opened] == [exchange]
    opened.close(exchange)
    made.live = False
    opened.note_head(opened.begin(made))
    assert [*opened] == []


# -- one exchange for a flow -------------------------------------------------------


def test_a_flow_has_one_exchange_until_that_is_closed() -> None:
    opened, made = Opened(), chat_flow()
    exchange = opened.begin(made)
    assert opened.of(made) is opened.get(made) is exchange
    assert [*opened] == [exchange]
    assert opened.close(exchange)
    assert not opened.close(exchange)
    assert (opened.get(made), [*opened]) == (None, [])


def test_another_flow_of_the_same_id_leaves_an_exchange_alone() -> None:
    opened, made = Opened(), chat_flow()
    exchange = opened.begin(made)
    for live in (False, True):  # opened from a file while it runs; replayed from one
        other = chat_flow()
        other.set_state(made.get_state())
        other.live = live
        assert opened.begin(other) is not exchange
        assert opened.close(opened.of(other))
    assert opened.get(made) is exchange
    assert (exchange.is_open, opened.abandoned) == (True, [])


def test_hosts_are_searched_once_unless_the_request_is_sent_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[http.HTTPFlow] = []

    def searching(flow: http.HTTPFlow, hosts: Hosts) -> bool:
        searched.append(flow)
        return is_on_selected_host(flow, hosts)

    monkeypatch.setattr(open_exchanges, "is_on_selected_host", searching)
    opened, made = Opened(), chat_flow()
    exchange = opened.begin(made)
    assert [opened.of(made).is_selected for _ in range(3)] == [True] * 3
    assert len(searched) == 1
    counts: Any = object()
    exchange.settings = counts
    made.request.headers["x-other"] = "1"
    assert opened.of(made).settings is counts
    made.request.host = made.request.headers["host"] = "other.test"  # another addon
    assert not opened.of(made).is_selected
    assert exchange.settings is None
    exchange.route = Routed.send(made.request, Target.parse("https://there.test"))
    assert opened.of(made).is_selected
    exchange.settings = counts
    made.request.host = "third.test"
    assert opened.of(made).settings is None
    assert len(searched) == 2


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
