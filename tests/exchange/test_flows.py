import gzip
from collections.abc import Iterator, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from mitmproxy import connection, flow, http
from mitmproxy.addonmanager import Loader
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons

from llm_normalize.exchange import flows
from llm_normalize.exchange.flows import (
    answers_events,
    asked_of,
    break_off,
    client_left,
    content_of,
    gateway_status,
    is_ours,
    is_selected,
    is_shown,
    note,
    place_of,
    prepare_headers,
    quoted,
    secrets_of,
    show_anew,
)
from llm_normalize.exchange.sending import Outlet
from llm_normalize.routing.hosts import Hosts
from llm_normalize.routing.routes import is_reverse
from llm_normalize.wire.content_encoding import LARGEST, LargeBodyError
from proxies import HOST, SSE, broken, chat_flow, headers_of, response_of

HOSTS = Hosts.parse([HOST, "a.test:8443"])
REVERSE = ProxyMode.parse("reverse:https://other.test")


# -- whose flow it is --------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"content-type": SSE}, True),
        ({"content-type": "Text/Event-Stream; charset=utf-8"}, True),
        ({"content-type": "application/json"}, False),
        ({"x": "y"}, False),
    ],
)
def test_an_event_stream_is_told_by_its_type(
    headers: dict[str, str], expected: bool
) -> None:
    assert answers_events(response_of(chat_flow(headers=headers))) is expected


# -- secrets -----------------------------------------------------------------------


def request_with(headers: dict[str, str], path: str = "/") -> http.Request:
    made = http.Request.make("POST", f"https://{HOST}{path}")
    for name, value in headers.items():
        made.headers[name] = value
    return made


@pytest.mark.parametrize("name", ["authorization", "Proxy-Authorization"])
def test_a_credential_is_secret_with_and_without_its_scheme(name: str) -> None:
    request = request_with({name: "Bearer sk-SECRET"})
    assert secrets_of(request) == ("Bearer sk-SECRET", "sk-SECRET")


@pytest.mark.parametrize("name", ["api-key", "X-Api-Key", "x-goog-api-key"])
def test_a_key_in_a_header_is_secret(name: str) -> None:
    assert secrets_of(request_with({name: "sk-SECRET"})) == ("sk-SECRET",)


def test_cookies_are_secret_together_and_each_alone() -> None:
    request = request_with({"cookie": "a=SECRET1; b=SECRET2"})
    assert {"a=SECRET1; b=SECRET2", "SECRET1", "SECRET2"} <= set(secrets_of(request))


def test_every_key_in_the_query_is_secret_and_nothing_else_there() -> None:
    path = "/?key=SECRET1&api_key=SECRET2&key=SECRET3&model=a-model"
    assert set(secrets_of(request_with({}, path))) == {"SECRET1", "SECRET2", "SECRET3"}


def test_a_header_that_is_sent_twice_is_secret_twice() -> None:
    request = request_with({})
    request.headers.set_all("api-key", ["SECRET1", "SECRET2"])
    assert set(secrets_of(request)) == {"SECRET1", "SECRET2"}


def test_a_longer_secret_comes_before_what_it_contains() -> None:
    # Masked in this order, no rest of it stays.
    request = request_with({"api-key": "SECRET", "x-api-key": "SECRET-AND-MORE"})
    assert secrets_of(request) == ("SECRET-AND-MORE", "SECRET")


def test_placeholders_and_other_headers_are_no_secrets() -> None:
    headers = {"api-key": "none", "x-api-key": "x", "user-agent": "a-long-name"}
    assert secrets_of(request_with(headers, "/?key=x")) == ()


# -- headers of a stream -----------------------------------------------------------


def prepared(
    headers: dict[str, str], client: str = "HTTP/1.1", server: str = "HTTP/1.1"
) -> dict[str, str]:
    made = chat_flow(headers=headers)
    made.request.http_version = client
    response_of(made).http_version = server
    prepare_headers(made.request, response_of(made))
    return headers_of(made)


@pytest.mark.parametrize(
    ("client", "server", "before", "after"),
    [
        ("HTTP/1.1", "HTTP/1.1", {"content-length": "9"}, "chunked"),
        ("HTTP/1.1", "HTTP/1.1", {"transfer-encoding": "chunked"}, "chunked"),
        ("HTTP/1.1", "HTTP/1.1", {}, None),  # ends with its connection
        ("HTTP/1.1", "HTTP/2.0", {}, "chunked"),
        ("HTTP/1.1", "HTTP/2.0", {"content-length": "9"}, "chunked"),
        ("HTTP/1.1", "HTTP/3", {}, "chunked"),
        ("HTTP/1.1", "HTTP/1.0", {}, None),
        # A 1.0 answer cannot be chunked (RFC 9112, section 6.1).
        ("HTTP/1.1", "HTTP/1.0", {"content-length": "9"}, None),
        ("HTTP/1.0", "HTTP/1.1", {"transfer-encoding": "chunked"}, None),
        ("HTTP/1.0", "HTTP/1.1", {"content-length": "9"}, None),
        ("HTTP/2.0", "HTTP/2.0", {"content-length": "9"}, None),
        ("HTTP/2.0", "HTTP/1.1", {"content-length": "9"}, None),
    ],
)
def test_a_stream_is_framed_for_its_client(
    client: str, server: str, before: dict[str, str], after: str | None
) -> None:
    framing = {"transfer-encoding": after} if after else {}
    headers = {"content-type": SSE, "x": "y", **before}
    expected = {"content-type": SSE, "x": "y", **framing}
    assert prepared(headers, client, server) == expected


def test_a_stream_loses_its_encoding() -> None:
    headers = {"content-type": SSE, "content-encoding": "gzip"}
    assert prepared(headers) == {"content-type": SSE}


def test_an_event_stream_keeps_its_type_as_it_is_spelled() -> None:
    headers = {"content-type": "Text/Event-Stream; charset=utf-8"}
    assert prepared(headers) == headers


@pytest.mark.parametrize(
    "kind", ["text/plain; charset=utf-8", "text/html", "application/json", ""]
)
def test_what_is_streamed_is_sent_as_an_event_stream(kind: str) -> None:
    headers = {"content-type": kind} if kind else {"x": "y"}
    assert prepared(headers)["content-type"] == SSE


# -- who left ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "connected", "left"),
    [
        ("peer closed connection without sending complete body", True, False),
        ("Server disconnected.", True, False),
        ("Client disconnected.", True, True),
        ("Stream was reset", False, True),
        # What follows is the upstream's own text.
        (
            "HTTP/2 connection closed: <ConnectionTerminated b'max_clients'>",
            True,
            False,
        ),
    ],
)
def test_who_left_is_told_by_the_connection_and_the_error(
    message: str, connected: bool, left: bool
) -> None:
    made = chat_flow()
    broken(made, message, connected=connected)
    assert client_left(made) is left


def test_without_an_error_the_client_is_still_there() -> None:
    assert not client_left(chat_flow())


@pytest.mark.parametrize(
    ("client", "server", "reason", "left"),
    [
        ("HTTP/1.1", "HTTP/2.0", "INTERNAL_ERROR", False),
        ("HTTP/1.1", "HTTP/2.0", "CANCEL", False),
        ("HTTP/2.0", "HTTP/1.1", "CANCEL", True),
        ("HTTP/2.0", "HTTP/1.1", "INTERNAL_ERROR", True),
        ("HTTP/2.0", "HTTP/2.0", "CANCEL", True),
        ("HTTP/2.0", "HTTP/2.0", "INTERNAL_ERROR", False),
    ],
)
def test_a_reset_by_an_http_2_upstream_is_not_the_client_s(
    client: str, server: str, reason: str, left: bool
) -> None:
    # mitmproxy says "client" on both sides (proxy/layers/http/_http2.py).
    made = chat_flow()
    made.request.http_version = client
    response_of(made).http_version = server
    broken(made, f"stream reset by client ({reason})")
    assert client_left(made) is left


def test_a_reset_before_an_answer_is_the_client_s() -> None:
    made = chat_flow()
    made.request.http_version = "HTTP/2.0"
    made.response = None
    broken(made, "stream reset by client (INTERNAL_ERROR)")
    assert client_left(made)


@pytest.mark.parametrize("left", [True, False])
def test_mitmproxys_layers_know_better_than_its_words(
    monkeypatch: pytest.MonkeyPatch, left: bool
) -> None:
    outlets = [SimpleNamespace(has_left=left), None]  # then nobody can tell
    monkeypatch.setattr(Outlet, "of", lambda _: outlets.pop(0))
    made = chat_flow()
    says = f"stream reset by client ({'NO_ERROR' if left else 'CANCEL'})"
    broken(made, says)
    assert client_left(made) is left
    broken(made, flow.Error.KILLED_MESSAGE)
    assert not client_left(made)
    made.request.http_version, made.response = "HTTP/2.0", None
    broken(made, says)
    assert client_left(made)  # of one that cannot be found, the words count
    assert client_left(made)  # nor of one in a mitmproxy with other inner parts
    assert outlets == []


def test_words_of_a_provider_are_quoted_without_the_request() -> None:
    made = chat_flow(request={"model": "m", "messages": [{"content": "my canary"}]})
    assert quoted(made, "no\x1b: My canary, nvapi-key") == r"no\x1b: ***"
    made.request.raw_content = None  # it went by unread
    assert quoted(made, "no: my canary") == "***"


# -- breaking off ------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Proxyserver]:
    made = Proxyserver()
    with (
        taddons.context(made) as context,
        closing(context.master.event_loop),  # mitmproxy 12.0 leaves it open
    ):
        yield made


def open_flow() -> http.HTTPFlow:
    made = chat_flow()
    made.server_conn.state = connection.ConnectionState.OPEN
    return made


def closed_for(made: http.HTTPFlow, server: Proxyserver) -> list[object]:
    """Let *server* know the client of *made*; return what it closes for it."""
    closed: list[object] = []
    handler: Any = SimpleNamespace(close_connection=closed.append)
    server.connections[made.client_conn.id] = handler
    return closed


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[http.HTTPFlow]:
    """The flows whose streams are reset; none has one unless the test adds it."""
    found: list[http.HTTPFlow] = []

    def outlet(made: http.HTTPFlow, _: object) -> Any:
        return SimpleNamespace(reset=lambda: found.append(made)) if found else None

    monkeypatch.setattr(
        "llm_normalize.exchange.flows.Outlet", SimpleNamespace(of=outlet)
    )
    return found


@pytest.mark.usefixtures("resets")
def test_a_break_off_kills_the_flow_and_closes_the_upstream_s_connection(
    server: Proxyserver,
) -> None:
    # A kill alone is seen at the stream's end only (mitmproxy #4711).
    made = open_flow()
    closed = closed_for(made, server)
    break_off(made)
    assert made.error is not None
    assert made.error.msg == flow.Error.KILLED_MESSAGE
    assert closed == [made.server_conn]


@pytest.mark.usefixtures("resets")
def test_a_flow_that_the_user_killed_is_closed_all_the_same(
    server: Proxyserver,
) -> None:
    made = open_flow()
    closed = closed_for(made, server)
    made.live = False
    break_off(made)
    assert made.error is None
    assert closed == [made.server_conn]


@pytest.mark.usefixtures("resets")
def test_a_connection_that_is_closed_already_is_left_alone(
    server: Proxyserver,
) -> None:
    made = chat_flow()
    made.server_conn.state = connection.ConnectionState.CLOSED
    closed = closed_for(made, server)
    break_off(made)
    assert closed == []


def test_one_stream_is_reset_and_its_connection_stays_open(
    server: Proxyserver, resets: list[http.HTTPFlow]
) -> None:
    made = open_flow()
    closed = closed_for(made, server)
    resets.append(made)
    break_off(made)
    assert resets == [made, made]
    assert closed == []


def test_the_connection_is_closed_if_one_stream_cannot_be_reset(
    server: Proxyserver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = open_flow()
    closed = closed_for(made, server)
    monkeypatch.setattr("llm_normalize.exchange.flows.Outlet", None)
    break_off(made)
    assert closed == [made.server_conn]
    assert caplog.messages == ["normalize: one stream cannot be reset alone"]


@pytest.mark.usefixtures("server")
def test_the_flow_of_a_client_that_has_gone_is_killed_only() -> None:
    made = open_flow()
    break_off(made)
    assert made.error is not None
    assert made.server_conn.connected


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Server disconnected", 502),
        ("Request body exceeds mitmproxy's body_size_limit.", 413),
        ("Received a message from client, refusing to prevent smuggling", 400),
        ("Invalid request scheme: ftp", 400),
        ("mitmproxy received an HTTP CONNECT request even though it is not", 400),
        ("stream reset by server (CANCEL)", None),
        ("stream reset by server (HTTP_1_1_REQUIRED)", None),
        ("Connection killed.", None),
        ("Client disconnected.", None),
    ],
)
def test_the_status_in_the_providers_place_is_told_by_mitmproxys_words(
    message: str, status: int | None
) -> None:
    made = chat_flow()
    broken(made, message)
    assert gateway_status(made) == status


# -- who can look at it -------------------------------------------------------------


class Dumper:
    def load(self, loader: Loader) -> None:
        loader.add_option("flow_detail", int, 1, "")
        loader.add_option("save_stream_file", str, "", "")
        loader.add_option("scripts", Sequence[str], ["addon/normalize.py"], "")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, False),
        ({"flow_detail": 2}, False),
        ({"flow_detail": 3}, True),
        ({"save_stream_file": "flows"}, True),
        ({"scripts": ["addon/normalize.py", "mine.py"]}, True),
    ],
)
def test_in_mitmdump_only_who_asks_for_it_can_look_at_a_flow(
    options: dict[str, Any], shown: bool
) -> None:
    with taddons.context(Dumper()) as context:
        context.configure(Dumper(), **options)
        assert is_shown() is shown
    context.master.event_loop.close()  # mitmproxy 12.0 leaves it open


def test_elsewhere_anybody_can() -> None:
    with taddons.context() as context:
        assert is_shown()
    context.master.event_loop.close()


MARKS = (":star:", ":mag:")


def test_a_note_is_one_line_and_no_longer_than_a_list_can_show() -> None:
    made = chat_flow()
    note(made, "a\nb" + "x" * 999, ":star:", MARKS)
    assert made.comment.startswith("normalize: a\\nb")
    assert len(made.comment) == 200


def test_a_note_of_ours_gives_way_and_one_of_the_users_stays() -> None:
    made = chat_flow()
    note(made, "old", ":star:", MARKS)
    note(made, "new", ":mag:", MARKS)
    assert (made.comment, made.marked) == ("normalize: new", ":mag:")
    note(made, "", "", MARKS)
    assert (made.comment, made.marked) == ("", "")
    made.comment, made.marked = "mine", ":zap:"
    note(made, "new", ":mag:", MARKS)
    assert (made.comment, made.marked) == ("mine", ":zap:")


def test_whoever_lists_flows_is_told_that_there_is_more() -> None:
    class View:
        name = "view"
        told: ClassVar[list[Any]] = []

        def update(self, flows: list[http.HTTPFlow]) -> None:
            self.told.append(flows)

    made = chat_flow()
    with taddons.context() as context:
        show_anew(made)  # nobody lists them
        context.master.addons.add(View())
        show_anew(made)
    assert View.told == [[made]]
    context.master.event_loop.close()


@pytest.mark.parametrize(
    ("url", "header", "place"),
    [
        ("http://a.test/", None, "a.test"),
        ("https://a.test/", None, "a.test"),
        ("https://a.test:443/", "a.test", "a.test"),
        ("https://a.test:80/", None, "a.test:80"),
        ("http://127.0.0.1:8000/", None, "127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "b.test:8000", "b.test:8000"),
        ("http://[::1]:8000/", None, "[::1]:8000"),
        ("http://[::1]:8000/", "[::1]:8000", "[::1]:8000"),
        ("https://[::1]/", None, "[::1]"),
    ],
)
def test_host_has_its_port_unless_that_is_the_usual_one(
    url: str, header: str | None, place: str
) -> None:
    request = http.Request.make("POST", url)
    request.host_header = header
    assert place_of(request) == place


MANY = b"[" + b"{}," * 50_000 + b"{}]"


def test_a_body_is_decoded_within_its_bound() -> None:
    made = chat_flow(request={"model": "m"})
    request, response = made.request, response_of(made)
    assert content_of(request) == b'{"model":"m"}'
    bomb = gzip.compress(bytes(LARGEST + 1))
    for message in (request, response):
        message.headers["content-encoding"] = "gzip"
        message.raw_content = bomb
        with pytest.raises(ValueError, match="larger than"):
            content_of(message)
    del request.headers["content-encoding"]
    request.raw_content = b'{"image":"%s"}' % (b"A" * LARGEST)
    assert content_of(request) == request.raw_content  # a long prompt is no bomb
    request.raw_content = MANY
    with pytest.raises(ValueError, match="too many values"):
        content_of(request)
    response.raw_content = None
    assert content_of(response) == b""


def test_a_body_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[str]()

    def looking(name: str) -> None:
        act = getattr(flows, name)

        def counted(*given: Any) -> Any:
            looked.append(name)
            return act(*given)

        monkeypatch.setattr(flows, name, counted)

    looking("decode")
    looking("is_crowded")
    request = chat_flow(request={"model": "m"}).request
    assert content_of(request) is content_of(request) is request.raw_content
    assert looked == ["decode", "is_crowded", "decode"]  # which copies nothing
    for data, encoding in ((gzip.compress(bytes(LARGEST + 1)), "gzip"), (MANY, "")):
        looked.clear()
        request.headers["content-encoding"] = encoding
        request.raw_content = data
        for _ in range(3):
            with pytest.raises(LargeBodyError):
                content_of(request)
        assert looked.count("decode") == 1
    request.raw_content = b"{}"
    assert content_of(request) == b"{}"


def test_the_bound_of_a_body_is_the_users() -> None:
    made = chat_flow(request={"model": "m"})
    data = gzip.compress(bytes(3000))
    for message in (made.request, response_of(made)):
        message.headers["content-encoding"] = "gzip"
        message.raw_content = data
    with taddons.context(Proxyserver()) as context:
        context.options.update(body_size_limit="2k")
        with pytest.raises(ValueError, match="larger than 2,048 bytes"):
            content_of(response_of(made))
        context.options.update(body_size_limit="9m")
        response_of(made).raw_content = gzip.compress(bytes(LARGEST + 1))
        assert len(content_of(response_of(made))) == LARGEST + 1
        made.request.raw_content = response_of(made).raw_content
        with pytest.raises(ValueError, match="larger than 8,388,608 bytes"):
            content_of(made.request)
        context.options.update(body_size_limit=None)
    context.master.event_loop.close()


def test_what_a_request_that_cannot_be_read_asks_is_seen_in_its_answer() -> None:
    made = chat_flow(request={"model": "m"})
    made.request.headers["content-encoding"] = "br"
    assert asked_of(made, strict=False).stream
    response_of(made).headers["content-type"] = "application/json"
    assert not asked_of(made, strict=False).stream
