import pytest
from mitmproxy import http

from llm_normalize.exchange.own_request import Reply
from llm_normalize.exchange.second_request import (
    HOPS,
    base_of,
    hops_in,
    host_of,
    is_gone,
    latin,
    replace_response,
)
from proxies import broken, chat_flow, headers_of, response_of


@pytest.mark.parametrize(
    ("host", "base", "header"),
    [
        ("a.test", "https://a.test:443", "a.test"),
        ("a.test:8443", "https://a.test:8443", "a.test:8443"),
        ("[::1]:8443", "https://[::1]:8443", "[::1]:8443"),
    ],
)
def test_server_is_that_of_the_request(host: str, base: str, header: str) -> None:
    made = chat_flow(host=host)
    made.request.headers.pop("host", None)
    assert base_of(made.request) == base
    assert host_of(made.request) == header
    made.request.host_header = "kept.test"
    assert base_of(made.request) == base
    assert host_of(made.request) == "kept.test"


def test_header_stays_byte_for_byte() -> None:
    request = http.Request.make("GET", "https://a.test/")
    request.headers.fields = ((b"a", b"\xc3\xbc\xff"),)
    assert latin(request.headers["a"]).encode("latin-1") == b"\xc3\xbc\xff"


def test_headers_that_a_connection_names_are_its_own() -> None:
    given = [("connection", "close, X-Hop"), ("connection", "y"), ("x-hop", "1")]
    assert hops_in(given) == HOPS | {"close", "x-hop", "y"}
    assert hops_in([]) == HOPS | {""}


def test_client_that_has_left_is_gone_unless_it_is_a_replay() -> None:
    made = chat_flow()
    assert not is_gone(made)
    broken(made, "Client disconnected.", connected=False)
    assert is_gone(made)
    made.is_replay = "request"
    assert not is_gone(made)


def test_reply_takes_the_place_of_the_answer() -> None:
    made = chat_flow(status=400)
    reply = Reply(200, "", [("Content-Type", "a/b"), ("Keep-Alive", "5")], b"{}")
    replace_response(response_of(made), reply)
    assert (response_of(made).status_code, response_of(made).reason) == (200, "OK")
    assert headers_of(made) == {"content-type": "a/b", "content-length": "2"}
    assert response_of(made).raw_content == b"{}"
