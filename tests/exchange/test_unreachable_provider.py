import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.proxy import commands, events, layer, mode_specs
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import modes

from llm_normalize.exchange import unreachable_provider
from llm_normalize.exchange.state.exchange import Exchange
from llm_normalize.exchange.state.open_exchanges import is_on_selected_host
from llm_normalize.exchange.stream import keepalive_clock
from llm_normalize.exchange.unreachable_provider import end, error_of, wait
from llm_normalize.mitm.connection_errors import reason_of
from llm_normalize.repair.fix import DONE
from llm_normalize.routing.hosts import Hosts
from llm_normalize.routing.routes import Routed, Target
from proxies import GOOD, HOST, Proxy, broken, chat_flow, fail, messages
from support import LOOPBACK, Http1Client, Http1Reply, Mitmdump, Provider, connect

ASKED = {"model": "acme-1", "stream": True, "messages": []}
PATH = "/v1/chat/completions"
PAGE = "https://chat.test"
KEY = "sk-a-canary-word"

# -- what mitmproxy reports, and what a client reads ----------------------------

CLOSED = "it closed the connection before its answer was whole"
INVALID = "it answered with invalid HTTP"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("[Errno 111] Connect call failed ('10.0.0.7', 443)", "it refused"),
        ("Multiple exceptions: [Errno 111] Connect call failed ('::1', 9)", "it refu"),
        ("[WinError 1225] The remote computer refused the connection", "it refused"),
        ("[Errno 110] Connect call failed ('10.0.0.7', 443)", "the connection timed"),
        ("[Errno 110] Connection timed out", "the connection timed out"),
        ("[WinError 121] The semaphore timeout period has expired", "the connection t"),
        ("[Errno 113] No route to host", "there is no network route to it"),
        ("[Errno -2] Name or service not known", "its name cannot be resolved"),
        ("[Errno 8] nodename nor servname provided, or not known", "its name cannot"),
        ("[Errno 11001] getaddrinfo failed", "its name cannot be resolved"),
        ("[Errno -3] Temporary failure in name resolution", "its name cannot be res"),
        ("Certificate verify failed: Hostname mismatch", "its certificate is invalid (Hostname mismatch)"),
        ("Certificate verify failed: certificate has expired", "its certificate is invalid (certificate has expired)"),
        *(
            (f"Certificate verify failed: {said}", "its certificate is from an unknown")
            for said in (
                "unable to get local issuer certificate",
                "unable to verify the first certificate",
                "self-signed certificate in certificate chain",
            )
        ),
        ("The remote server does not speak TLS.", "it does not speak TLS on this"),
        ("mitmproxy cannot agree on a TLS version to use.", "it supports no TLS version"),
        ("OpenSSL Error([('SSL routines', '', 'x')])", "the TLS handshake failed"),
        ("sslv3 alert bad certificate", "the TLS handshake failed"),
        ("Upstream proxy 10.0.0.1:3128 refused HTTP CONNECT request: 407 Who?", "the upstream proxy refused (407)"),
        ("server closed connection", CLOSED),
        ("peer closed connection", CLOSED),
        ("HTTP/1 protocol error: peer closed connection without a body", CLOSED),
        ("unexpected server response: b'[Errno 111] OpenSSL closed'", INVALID),
        ("Cannot parse HTTP response: Invalid status", INVALID),
        ("HTTP/2 protocol error: Received bad frame", INVALID),
        ("Received unexpected HTTP/2 response.", INVALID),
        ("Received a bad header from server, refusing to prevent smuggling", INVALID),
        (
            "Received message with both transfer-encoding and content-length headers",
            f"{INVALID}: both content-length and transfer-encoding, refused while valid",
        ),
        ("Cannot parse HTTP response: invalid content-length header: '5, 5'", f"{INVALID}: more than one content-length"),
        ("Cannot parse HTTP response: invalid content-length header: '-5'", INVALID),
        (
            "Received multiple content-length headers: [b'5', b'5'] from server, refusing",
            f"{INVALID}: more than one content-length, refused while validate_inbound_",
        ),
        (
            "Received invalid header name: b'a' … Disable the validate_inbound_headers option",
            f"{INVALID}, refused while validate_inbound_headers is on",
        ),
        ("stream reset by client (REFUSED_STREAM)", "it aborted the request"),
        ("HTTP/2 connection closed: <ConnectionTerminated x>", "it aborted the req"),
        ("Response body exceeds mitmproxy's body_size_limit.", "its answer is larger"),
        ("Connection killed: by /etc/addon.py", "the connection failed"),
    ],
)  # fmt: skip
def test_reason_is_in_plain_words(message: str, reason: str) -> None:
    assert reason_of(message).startswith(reason)
    said = reason_of(message).replace("mitmproxy's option", "")
    for hidden in ("10.0.0", "/etc", "Errno", "mitmproxy"):
        assert hidden not in said.partition(". Add that CA")[0]


def failed(message: str, **more: Any) -> http.HTTPFlow:
    made = chat_flow(**more)
    made.response = None
    made.live = True
    broken(made, message)
    return made


def error_for(
    made: http.HTTPFlow, hosts: str = HOST, route: str = ""
) -> tuple[int, dict[str, Any]] | None:
    exchange = Exchange(made, is_on_selected_host(made, Hosts.parse([hosts])))
    if route:
        exchange.route = Routed.send(made.request, Target.parse(route))
    response = error_of(exchange)
    if response is None:
        return None
    return response.status_code, json.loads(response.content or b"")["error"]


BEHIND = f"{HOST} through the upstream proxy"
PROXY = f"the upstream proxy (for {HOST})"


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("[Errno 111] Connect call failed ('10.0.0.7', 3128)", f"{PROXY}: it refused"),
        ("[Errno 110] Connection timed out", f"{PROXY}: the connection timed out"),
        ("[Errno 113] No route to host", f"{PROXY}: there is no network route to it"),
        ("[Errno -2] Name or service not known", f"{PROXY}: its name cannot be"),
        ("Error connecting to 10.0.0.7: Bad HTTP response", f"{PROXY}: {INVALID}"),
        (
            "Upstream proxy 10.0.0.1:3128 refused HTTP CONNECT request: 407 Who?",
            f"{HOST}: the upstream proxy refused (407)",
        ),
        ("server closed connection", f"{BEHIND}: {CLOSED}"),
        ("The remote server does not speak TLS.", f"{BEHIND}: it does not speak TLS"),
    ],
)
def test_failing_upstream_proxy_is_not_the_host(message: str, says: str) -> None:
    made = failed(message)
    made.server_conn.via = ("http", ("10.0.0.7", 3128))
    found = error_for(made)
    assert found is not None
    assert found[1]["message"].startswith(f"No answer from {says}")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("The remote server does not speak TLS.", "it does not speak TLS"),
        (
            "Certificate verify failed: hostname mismatch",
            "its certificate is invalid (",
        ),
    ],
)
def test_neither_is_named_alone_where_both_speak_tls(message: str, reason: str) -> None:
    made = failed(message)
    made.server_conn.via = ("https", ("10.0.0.7", 3128))
    found = error_for(made)
    assert found is not None
    both = f"the upstream proxy, or from {HOST} through it"
    assert found[1]["message"].startswith(f"No answer from {both}: {reason}")


def test_only_what_is_ours_gets_our_error() -> None:
    assert error_for(failed("server closed connection"), "other.test") is None
    models = failed("server closed connection", path="/v1/models", method="GET")
    assert error_for(models) is None
    assert error_for(models, "other.test", "https://there") is not None


@pytest.mark.parametrize(
    "message",
    [
        "Connection killed.",
        "Request body exceeds mitmproxy's body_size_limit.",
        "Received a bad header from client, refusing to prevent smuggling",
    ],
)
def test_error_that_is_not_the_providers_is_mitmproxys(message: str) -> None:
    assert error_for(failed(message)) is None


def test_client_of_http_2_may_ask_again_by_http_1() -> None:
    made = failed("stream reset by client (HTTP_1_1_REQUIRED)")
    assert error_for(made) is not None
    made.request.http_version = "HTTP/2.0"
    assert error_for(made) is None


# -- what is sent ------------------------------------------------------------------


class ClientStream:
    """The client's side of a flow, whose answer has *begun*; stores what is sent."""

    def __init__(self, *, begun: bool = False, is_open: bool = True) -> None:
        self.has_begun = begun
        self.is_open = is_open
        self.sent: list[tuple[http.Response, bool]] = []
        self.drained = False

    async def answer(self, response: http.Response, *, ends: bool) -> bool:
        self.sent.append((response, ends))
        return self.is_open

    async def drain(self) -> None:
        self.drained = True


def ended(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    made: http.HTTPFlow,
    client_stream: Any,
) -> tuple[str, int | None]:
    """Let *made* fail; return what its record says: end and status."""
    found = SimpleNamespace(of=lambda _: client_stream)
    monkeypatch.setattr(unreachable_provider, "ClientStream", found)
    proxy.addon.requestheaders(made)
    waits: Any = proxy.addon.error(made)
    if waits is not None:
        proxy.context.master.event_loop.run_until_complete(waits)
    (record,) = proxy.records("flow")
    return record["end"], record["status"]


def test_loop_is_recorded_with_the_status_that_was_sent(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_stream = ClientStream()
    made = failed("Connection killed: Request destination unknown.")
    assert ended(proxy, monkeypatch, made, client_stream) == ("error", 508)
    ((response, ends),) = client_stream.sent
    assert (response.status_code, ends) == (508, True)


@pytest.mark.parametrize(
    "message",
    [
        "Response body exceeds mitmproxy's body_size_limit.",
        "Received a bad header from server, refusing to prevent smuggling",
    ],
)
def test_error_that_mitmproxy_always_reports_is_the_last_of_a_connection(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    client_stream = ClientStream()
    assert ended(proxy, monkeypatch, failed(message), client_stream) == ("error", 502)
    ((_, ends),) = client_stream.sent
    assert not ends


def test_nothing_is_sent_where_an_answer_has_begun(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_stream = ClientStream(begun=True)
    made = failed("server closed connection")
    assert ended(proxy, monkeypatch, made, client_stream) == ("error", 502)
    assert client_stream.sent == []
    assert client_stream.drained


@pytest.mark.parametrize("reload", [False, True])
def test_what_waits_in_an_answer_that_breaks_off_is_sent_first(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, *, reload: bool
) -> None:
    sent = list[bytes]()

    class Begun(ClientStream):
        async def end(self, conclude: Callable[[], tuple[bytes, bool]]) -> bool:
            assert not self.drained
            data, is_over = conclude()
            sent.append(data)
            return is_over

    client_stream = Begun(begun=True)
    for module in (unreachable_provider, keepalive_clock):
        monkeypatch.setattr(
            module, "ClientStream", SimpleNamespace(of=lambda _: client_stream)
        )
    made = chat_flow()
    proxy.addon.requestheaders(made)
    proxy.addon.responseheaders(made)
    out = proxy.feed(made, GOOD.removesuffix(DONE))
    if reload:  # its stream is repaired on, and another addon gets the hook
        proxy.addon.done()
    broken(made, "server closed connection")
    waits: Any = proxy.addon.error(made)
    proxy.context.master.event_loop.run_until_complete(waits)
    assert out + b"".join(sent) == GOOD
    assert client_stream.drained
    assert proxy.end() == "complete"


@pytest.mark.usefixtures("proxy")
def test_client_stream_that_cannot_be_found_costs_a_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unreachable_provider, "ClientStream", SimpleNamespace(of=fail))
    closed: list[int | None] = []
    made = failed("server closed connection")
    assert end(made, http.Response.make(502), closed.append) is None
    assert wait(made) is None
    assert closed == [None]
    assert messages(caplog, "ERROR") == ["normalize: cannot send beside mitmproxy"] * 2


# -- where mitmproxy is another ----------------------------------------------------


def test_client_stream_that_cannot_send_costs_a_line(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client_stream = SimpleNamespace(has_begun=False, answer=fail)
    made = failed("server closed connection")
    assert ended(proxy, monkeypatch, made, client_stream) == ("error", 502)
    (line,) = messages(caplog, "ERROR")
    assert line == "normalize: mitmproxy answers in its own form"


class Start:
    """The connection of a reverse proxy's client, as mitmproxy has it at its start."""

    def __init__(self, proxy: Proxy, mode: str, **options: str) -> None:
        proxy.set(connection_strategy="eager", **options)
        self.addon = proxy.addon
        self.client = chat_flow().client_conn
        self.client.proxy_mode = mode_specs.ProxyMode.parse(mode)
        context = Context(self.client, proxy.context.options)
        self.top: Any = modes.ReverseProxy(context)
        handler: Any = SimpleNamespace(layer=self.top, transports={})
        server = proxy.context.master.addons.get("proxyserver")
        server.connections[self.client.id] = handler

    def play(self, error: str | None) -> bool:
        """Connect with *error*, or none; tell whether the client is hung up on."""
        (open_,) = self.top.handle_event(events.Start())
        done = events.OpenConnectionCompleted(open_, error)
        out = list(self.top.handle_event(done))
        later = events.DataReceived(self.client, b"GET")
        asks = [*self.top.handle_event(later)]
        closes = any(isinstance(each, commands.CloseConnection) for each in out)
        assert closes is not any(isinstance(each, layer.NextLayerHook) for each in asks)
        return closes


@pytest.mark.parametrize("error", [None, "refused"])
def test_client_may_ask_although_the_provider_is_down(
    proxy: Proxy, error: str | None
) -> None:
    assert not Start(proxy, "reverse:https://there.test").play(error)


def test_client_of_another_protocol_is_hung_up_on(proxy: Proxy) -> None:
    assert Start(proxy, "reverse:tcp://there.test:5").play("refused")


# -- a reverse proxy whose provider is down ----------------------------------------


@contextlib.contextmanager
def down(
    folder: Path, ca: Path, scheme: str = "http", **options: str
) -> Iterator[tuple[Mitmdump, socket.socket]]:
    """Start a reverse proxy to a port that a socket reserves; nobody listens there."""
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        port = held.getsockname()[1]
        mode = f"reverse:{scheme}://{LOOPBACK}:{port}"
        with Mitmdump(folder, ca, "--mode", mode, options=options) as mitmdump:
            yield mitmdump, held
    assert KEY not in mitmdump.log
    assert "Traceback" not in mitmdump.log


def error_in(reply: Http1Reply, held: socket.socket) -> None:
    body = reply.rest()
    assert reply.status == 502
    assert reply.headers["content-type"] == "application/json"
    host = f"{LOOPBACK}:{held.getsockname()[1]}"
    message = f"No answer from {host}: it refused the connection."
    assert json.loads(body)["error"]["message"] == message


def test_reverse_proxy_answers_in_openais_form(tmp_path: Path, mitm_ca: Path) -> None:
    options = {"normalize_cors": PAGE, "stream_large_bodies": "1k"}
    with down(tmp_path, mitm_ca, **options) as (mitmdump, held):
        with Http1Client(connect(mitmdump.port)) as client:
            more = {"origin": PAGE, "authorization": f"Bearer {KEY}"}
            reply = client.post(PATH, ASKED, more)
            error_in(reply, held)
            assert reply.headers["access-control-allow-origin"] == PAGE
            # By the same connection: another path, one that is sent on as it comes.
            error_in(client.post("/v1/embeddings", {}), held)
            error_in(client.post(PATH, {**ASKED, "user": "x" * 99_000}), held)
            waited = client.post(PATH, ASKED, {"expect": "100-continue"})
            assert waited.interim == [100]
            error_in(waited, held)
            client.socket.sendall(b"HEAD /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
            assert Http1Reply(client).status == 502
            old = client.post(PATH, ASKED, version="1.0")
            error_in(old, held)
            assert client.receive() == b"", "it closes, as HTTP/1.0 has it"
        mitmdump.set(normalize_mode="observe")
        # mitmproxy connects to the provider before it reads a request, and hangs up.
        # Where this request has arrived unread by then, TCP resets.
        refused = contextlib.suppress(ConnectionResetError, BrokenPipeError)
        with connect(mitmdump.port) as raw, refused:
            raw.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
            assert raw.recv(1) == b"", "mitmproxy hangs up"
    flows = [each for each in mitmdump.pairs() if each["type"] == "flow"]
    assert {(each["end"], each["status"]) for each in flows} == {("error", 502)}


def test_provider_that_is_back_is_asked_at_once(tmp_path: Path, mitm_ca: Path) -> None:
    with (
        down(tmp_path, mitm_ca) as (mitmdump, held),
        Http1Client(connect(mitmdump.port)) as client,
    ):
        port = held.getsockname()[1]
        error_in(client.post(PATH, ASKED), held)
        held.close()
        with Provider(port=port) as provider:
            script = provider.script(b"data: [DONE]\n\n")
            assert client.post(script.path, ASKED).rest() == script.bytes


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_clients_with_tls_of_a_reverse_proxy_get_it_too(
    tmp_path: Path, mitm_ca: Path, scheme: str
) -> None:
    with down(tmp_path, mitm_ca, scheme) as (mitmdump, held):
        raw = connect(mitmdump.port, ca=mitmdump.ca, over_tls="localhost")
        with Http1Client(raw) as client:
            for _ in range(2):
                error_in(client.post(PATH, ASKED), held)
