import pytest
from mitmproxy.proxy.mode_specs import ProxyMode

from llm_normalize.exchange.selection import is_ours, is_selected
from llm_normalize.routing.hosts import Hosts
from llm_normalize.routing.routes import is_reverse
from proxies import HOST, chat_flow

HOSTS = Hosts.parse([HOST, "a.test:8443"])


REVERSE = ProxyMode.parse("reverse:https://other.test")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("reverse:https://a.test", True), ("regular", False), ("socks5", False)],
)
def test_a_reverse_proxy_s_client_is_told_from_others(
    mode: str, expected: bool
) -> None:
    assert is_reverse(ProxyMode.parse(mode)) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [(HOST, True), ("a.test:8443", True), ("a.test", False), ("other.test", False)],
)
def test_a_flow_is_selected_by_host_and_port(host: str, expected: bool) -> None:
    assert is_selected(chat_flow(host=host), HOSTS) is expected


def test_the_host_header_selects_a_flow_too() -> None:
    made = chat_flow(host="192.0.2.1")
    made.request.headers["host"] = HOST
    assert is_selected(made, HOSTS)


def test_a_kept_host_header_does_not_hide_the_host() -> None:
    made = chat_flow()
    made.request.headers["host"] = "localhost:8080"
    assert is_selected(made, HOSTS)


def test_a_reverse_proxy_s_upstream_is_always_selected() -> None:
    made = chat_flow(host="other.test")
    made.client_conn.proxy_mode = REVERSE
    assert is_selected(made, HOSTS)


@pytest.mark.parametrize("mode", [ProxyMode.parse("regular"), REVERSE])
def test_a_flow_that_is_loaded_from_a_file_is_not_selected(mode: ProxyMode) -> None:
    made = chat_flow()
    made.client_conn.proxy_mode = mode
    made.live = False
    assert not is_selected(made, HOSTS)
    assert not is_ours(made, HOSTS)


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
    assert is_ours(chat_flow(host=host, path=path, method=method), HOSTS) is expected
