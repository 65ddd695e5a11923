from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import brotli
import pytest
from mitmproxy import exceptions, http, tls
from mitmproxy.addons.proxyauth import ProxyAuth
from mitmproxy.connection import ConnectionState, Server
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

import zstd_frames
from llm_normalize import conformance
from llm_normalize.exchange.routing_policy import Routing
from llm_normalize.records.snapshot import KEY as NOTED
from llm_normalize.wire.json_text import dumps, loads
from proxies import (
    GOOD,
    GOOD_BODY,
    HOST,
    Proxy,
    broken,
    chat_flow,
    connected,
    fail,
    messages,
    response_of,
)

KEY = "nvapi-canary-4711"
OPENAI = "api.openai.com"
ROUTE = f"{OPENAI}=https://{HOST}/base/v1"
REVERSE = ProxyMode.parse("reverse:https://provider.test")


@pytest.fixture
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("A_TOKEN", "token-0815")
    with Proxy(tmp_path) as made:
        yield made


def unsent(**more: Any) -> http.HTTPFlow:
    """Return a flow whose request has come."""
    made = chat_flow(**more)
    made.response = None
    return made


def ask(proxy: Proxy, **more: Any) -> http.HTTPFlow:
    """Play a request up to its leaving."""
    made = unsent(**more)
    send(proxy, made)
    return made


def send(proxy: Proxy, made: http.HTTPFlow) -> None:
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    if made.response is None:
        connected(made)


def answer(proxy: Proxy, made: http.HTTPFlow, data: bytes = GOOD) -> bytes:
    made.response = chat_flow().response
    return proxy.stream(made, data)


# -- routes and models -----------------------------------------------------------------


def test_routed_answer_that_never_arrived_looks_as_it_was(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.set(normalize_routes=[ROUTE], normalize_keys=[f"{HOST}=env:A_KEY"])
    made = ask(proxy, host=OPENAI)
    broken(made, "connection refused")
    proxy.addon.error(made)
    assert made.request.host == OPENAI
    assert KEY not in str(made.get_state())
    assert f"{OPENAI} has a route to https://{HOST}/base/v1" in messages(caplog)[-1]


BY_MODEL = [
    f"{OPENAI}/deepseek-*=https://other.test/v1",
    f"{OPENAI}/exact=https://other.test/v1",
    ROUTE,
]


def model(name: str, **more: Any) -> Any:
    return {"request": {"model": name, "stream": True}, "host": OPENAI, **more}


def test_model_says_where_its_request_goes(proxy: Proxy) -> None:
    keys = [f"{HOST}=env:A_KEY", "other.test=env:A_TOKEN"]
    proxy.set(normalize_routes=BY_MODEL, normalize_keys=keys)
    made = ask(proxy, **model("deepseek-chat"))
    assert made.request.url == "https://other.test/v1/chat/completions"
    assert made.request.headers["authorization"] == "Bearer token-0815"
    assert made.request.headers["accept-encoding"] == "identity"
    out = answer(proxy, made, GOOD.replace(b"data: ", b"data:"))
    assert out == GOOD
    assert made.request.host == OPENAI
    assert made.metadata[NOTED]["host"] == "other.test"
    made = ask(proxy, **model("llama"))
    assert made.request.host == HOST
    assert made.request.headers["authorization"] == f"Bearer {KEY}"
    # An embedding, too: the body names the model.
    made = ask(proxy, **model("exact", path="/v1/embeddings"))
    assert made.request.url == "https://other.test/v1/embeddings"


def test_list_of_models_has_those_that_routes_name(proxy: Proxy) -> None:
    proxy.set(normalize_routes=BY_MODEL, normalize_models=["gpt-4o=m", "exact=n"])
    made = ask(proxy, host=OPENAI, path="/v1/models", method="GET")
    assert made.request.host == HOST
    made.response = http.Response.make(200, dumps({"data": [{"id": "x"}]}))
    proxy.respond(made)
    listed = loads(response_of(made).content or b"")["data"]
    assert [each["id"] for each in listed] == ["x", "gpt-4o", "exact"]
    proxy.set(normalize_models=[])
    made = ask(proxy, host=OPENAI, path="/v1/models", method="GET")
    made.response = http.Response.make(200, dumps({"data": []}))
    proxy.respond(made)
    (found,) = loads(response_of(made).content or b"")["data"]
    assert (found["id"], found["owned_by"]) == ("exact", "other.test")


def test_model_may_be_served_by_a_native_provider(proxy: Proxy) -> None:
    native = f"{OPENAI}/@cf/*=workers-ai:https://cf.test/accounts/1"
    proxy.set(normalize_routes=[native, ROUTE])
    said = {"model": "@cf/meta/llama", "messages": [{"role": "user", "content": "Hi"}]}
    made = ask(proxy, host=OPENAI, request=said)
    path = "/accounts/1/ai/run/@cf/meta/llama"
    assert (made.request.host, made.request.path) == ("cf.test", path)
    made = ask(proxy, host=OPENAI, request=said, path="/v1/embeddings")
    assert response_of(made).status_code == 404


def test_upstream_with_a_route_is_not_connected_to_first(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    options = proxy.context.options
    caplog.set_level("INFO")
    proxy.set(mode=["reverse:https://other.test"], normalize_routes=[ROUTE])
    assert options.connection_strategy == "eager"
    proxy.set(mode=[f"reverse:https://{OPENAI}"])
    assert options.connection_strategy == "lazy"
    assert "connection_strategy is lazy now" in caplog.text
    caplog.clear()
    proxy.set(normalize_routes=[ROUTE, "x.test=https://y.test"])
    assert "lazy" not in caplog.text


def upgrade(proxy: Proxy, *, reverse: bool = False, **more: Any) -> http.HTTPFlow:
    """Ask for a WebSocket in the place of a POST to Responses."""
    made = unsent(**{"method": "GET", "path": "/v1/responses?a=b"} | more)
    made.request.headers["upgrade"] = "WebSocket"
    if reverse:
        made.client_conn.proxy_mode = REVERSE
    send(proxy, made)
    return made


def test_websocket_of_responses_is_answered_by_the_proxy(proxy: Proxy) -> None:
    # A host of the client's own choice, and one that serves chat alone.
    assert upgrade(proxy, host="api.groq.com").response is None
    assert response_of(upgrade(proxy)).status_code == 426
    proxy.set(normalize_translate=["off"])
    assert upgrade(proxy).response is None
    proxy.set(normalize_routes=[ROUTE], normalize_mode="observe")
    assert upgrade(proxy, reverse=True).response is None
    proxy.set(normalize_mode="repair")
    for made in (upgrade(proxy, host=OPENAI), upgrade(proxy, reverse=True)):
        response = response_of(made)
        assert (response.status_code, response.headers["upgrade"]) == (426, "HTTP/1.1")
        assert set(loads(response.content or b"")["error"]) == {
            *("message", "type", "param", "code")
        }
    assert upgrade(proxy, reverse=True, path="/v1/realtime").response is None
    proxy.set(normalize_gate="env:A_TOKEN")
    assert response_of(upgrade(proxy)).status_code == 401
    made = unsent(method="GET", path="/v1/responses")
    made.request.headers["upgrade"] = "h2c, websocket"
    made.request.headers["authorization"] = "Bearer token-0815"
    send(proxy, made)
    assert response_of(made).status_code == 426


# -- early connections -----------------------------------------------------------------


def test_host_that_has_a_route_is_not_connected_to(proxy: Proxy) -> None:
    proxy.set(normalize_routes=[ROUTE])
    made = unsent(host=OPENAI)
    proxy.addon.http_connect(made)
    assert response_of(made).status_code == 200
    other = chat_flow()
    other.response = None
    proxy.addon.http_connect(other)
    assert other.response is None


@pytest.mark.parametrize("sni", [OPENAI, None])
@pytest.mark.parametrize("is_open", [False, True])
def test_host_that_has_a_route_is_opened_without_being_asked(
    proxy: Proxy, sni: str | None, is_open: bool
) -> None:
    proxy.set(normalize_routes=[ROUTE])
    context = Context(tflow.tclient_conn(), proxy.context.options)
    context.server.address = (OPENAI, 443) if sni is None else ("192.0.2.1", 443)
    context.server.tls = True
    if is_open:
        context.server.state = ConnectionState.OPEN
    data = tls.ClientHelloData(context, cast(tls.ClientHello, SimpleNamespace(sni=sni)))
    proxy.addon.tls_clienthello(data)
    assert not data.ignore_connection
    assert context.server.tls is is_open


# -- keys ------------------------------------------------------------------------------


def test_key_is_on_the_request_until_the_answer_comes(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    made = ask(proxy)
    assert made.request.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(made.get_state())
    answer(proxy, made)
    assert made.request.headers["authorization"] == "***"
    assert ask(proxy, host="api.groq.com").request.headers["authorization"] == (
        "Bearer nvapi-key"
    )


def test_keys_are_taken_off_when_mitmproxy_ends(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    made = ask(proxy)
    proxy.addon.done()
    assert KEY not in str(made.request.headers)


@pytest.mark.parametrize(
    ("origin", "known"),
    [("https://chat.test", True), ("https://evil.test", False), ("null", False)],
)
def test_key_is_for_known_pages_alone(proxy: Proxy, origin: str, known: bool) -> None:
    proxy.set(
        normalize_keys=[f"{HOST}=env:A_KEY"], normalize_cors=["https://chat.test"]
    )
    made = unsent()
    made.request.headers["origin"] = origin
    send(proxy, made)
    assert (KEY in made.request.headers["authorization"]) is known
    assert (made.response is None) is known
    if not known:
        assert response_of(made).status_code == 403
        assert conformance.check_error_body(response_of(made).content or b"") == []


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none, cross-site"])
def test_page_of_another_site_uses_no_key(proxy: Proxy, site: str) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    made = unsent(method="GET", path="/v1/models")
    made.request.headers["sec-fetch-site"] = site
    send(proxy, made)
    assert response_of(made).status_code == 403
    assert "another site" in str(response_of(made).text)


@pytest.mark.parametrize(
    ("method", "path", "served"),
    [
        ("GET", "/v1/models", True),
        ("POST", "/v1/chat/completions", True),
        ("POST", "/v1/models", False),
        ("GET", "/v1/files", False),
        ("DELETE", "/v1/chat/completions", False),
        ("GET", "/v1/organization/admin_api_keys/models", False),
        ("GET", "/api/v1/keys/models", False),
        ("POST", "/v1/files/chat/completions", False),
        ("POST", "/v1/v1/chat/completions", False),
        ("POST", "/v1//chat/completions", True),
        ("GET", "/V1/organization/admin_api_keys/models", False),
        ("GET", "/organization/admin_api_keys/models", False),
        ("GET", "/api/organization/admin_api_keys/models", False),
        ("GET", "/.v1/org/models", False),
        ("POST", "/openai/Threads/thread_1/messages", False),
    ],
)
def test_key_serves_chats_and_the_list_of_models_alone(
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    served: bool,
) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    for _ in range(2):
        made = ask(proxy, method=method, path=path)
    assert (KEY in made.request.headers["authorization"]) is served
    assert made.response is None
    said = [each for each in caplog.messages if "without the key" in each]
    assert len(said) == (0 if served else 1)
    assert all(f"{HOST}{path} passes" in each for each in said)


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:8080", True),
        ("127.0.0.1", True),
        ("[::1]:8080", True),
        ("", True),
        (HOST, True),
        ("listed.test:8443", True),
        ("routed.test", True),
        ("192.0.2.250", True),  # that its client is connected to
        ("box.test", True),  # that it listens on
        ("rebound.test:8080", False),
        ("192.0.2.251", True),  # no resolver leads it elsewhere
    ],
)
def test_name_that_may_have_been_made_to_lead_here_gets_no_key(
    proxy: Proxy, host: str, known: bool
) -> None:
    proxy.set(
        normalize_keys=[f"{HOST}=env:A_KEY"],
        normalize_hosts=["listed.test:8443"],
        normalize_routes=["routed.test=https://other.test"],
        listen_host="box.test",
    )

    def asking(token: str) -> http.HTTPFlow:
        made = unsent(method="GET", path="/v1/models")
        made.client_conn.proxy_mode = REVERSE
        made.client_conn.sockname = ("192.0.2.250", 8080)
        made.request.headers["authorization"] = f"Bearer {token}"
        vars(made.request)["llm_normalize_host"] = host  # as `remember_hosts` does
        send(proxy, made)
        return made

    made = asking("nvapi-key")
    assert (made.response is None) is known
    if not known:
        assert response_of(made).status_code == 403
    proxy.set(normalize_gate="env:A_TOKEN")
    made = asking("token-0815")
    assert made.request.headers["authorization"] == f"Bearer {KEY}"


def test_host_that_mitmproxy_does_not_show_gets_no_key(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    monkeypatch.setattr(HttpStream, "state_wait_for_request_headers", None)
    made = unsent(method="GET", path="/v1/models")
    made.client_conn.proxy_mode = REVERSE
    send(proxy, made)
    assert response_of(made).status_code == 403


def test_server_whose_name_nobody_looked_at_gets_no_key(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    for verify, status in ((False, 502), (True, None)):
        made = chat_flow()
        made.response = None
        connected(made, verify=verify)
        send(proxy, made)
        found: http.Response | None = made.response
        assert (found and found.status_code) == status
    made = chat_flow()
    made.response = None
    connected(made, verify=False)
    made.server_conn.state = ConnectionState.CLOSED  # of a flow that is replayed
    send(proxy, made)
    assert made.response is None
    proxy.set(ssl_insecure=True)
    send(proxy, made)
    assert response_of(made).status_code == 500
    assert "ssl_insecure" in str(response_of(made).text)


def test_name_that_is_proved_is_the_one_that_the_key_is_for(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    for host, demanded in ((HOST, HOST), ("other.test", "evil.test")):
        server = Server(address=(host, 443))
        server.sni = "evil.test"
        context = Context(tflow.tclient_conn(), proxy.context.options)
        proxy.addon.tls_start_server(tls.TlsData(server, context))
        proxy.addon.tls_established_server(tls.TlsData(server, context))
        assert server.sni == demanded


def test_token_does_not_go_on_though_the_gate_is_opened_meanwhile(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "token-0815")
    proxy.set(normalize_gate="env:A_TOKEN")
    made = unsent(host=HOST)
    made.request.headers["authorization"] = "Bearer token-0815"
    proxy.addon.requestheaders(made)
    proxy.set(normalize_gate="")
    made.request.trailers = http.Headers(x_token="token-0815")
    proxy.addon.request(made)
    assert made.response is None
    assert not made.request.trailers
    assert "authorization" not in made.request.headers


ECHO = b'{"detail":"bad key nvapi-canary-4711 given"}'


def test_key_that_a_provider_echoes_is_in_nothing_that_is_kept(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    made = ask(proxy, request={"model": "m"})
    kind = {"content-type": "application/json"}
    made.response = http.Response.make(401, ECHO, kind)
    proxy.addon.responseheaders(made)
    proxy.addon.response(made)
    assert b"bad key ***" in (response_of(made).content or b"")
    assert KEY not in str(made.get_state())
    event = b"data: " + ECHO.replace(b"detail", b"error") + b"\n\n"
    streamed = ask(proxy)
    answer(proxy, streamed, event)
    assert KEY not in str(streamed.get_state())
    proxy.close()
    assert KEY not in proxy.log.read_text()


@pytest.mark.parametrize(
    "path",
    [
        "@evil.test/chat/completions",
        "/v1/files#/chat/completions",
        "/v1/files;/chat/completions",
        "/v1/../chat/completions",
        "/v1/%2E%2e/chat/completions",
        "/x/..;/chat/completions",
        "/v1\\chat/completions",
        *(f"/v1{odd}/chat/completions" for odd in ("%2f", "%5C", "%00", "%3F", "%23")),
        *(f"/v1{odd}/chat/completions" for odd in ("%25", "%1b", "%7f", "%c3%a9", "%")),
        *(f"/v1/chat/completions?{odd}" for odd in ("\r\nHost: evil", "\xe9", "a b")),
    ],
)
def test_key_and_route_are_for_plain_paths_alone(proxy: Proxy, path: str) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    made = unsent()
    made.request.path = path
    send(proxy, made)
    assert response_of(made).status_code == 404
    assert KEY not in made.request.headers.get("authorization", "")


def test_key_does_not_leave_unencrypted_for_a_chosen_host(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    made = unsent()
    made.request.scheme, made.request.port = "http", 80
    send(proxy, made)
    assert response_of(made).status_code == 403
    assert KEY not in made.request.headers["authorization"]


def test_key_goes_unencrypted_to_this_machine_or_as_asked(proxy: Proxy) -> None:
    for host, mode in ((HOST, "reverse:http://x.test"), ("127.1", "regular")):
        proxy.set(normalize_hosts=[host], normalize_keys=[f"{host}=env:A_KEY"])
        made = unsent(host=host)
        made.request.scheme = "http"
        made.client_conn.proxy_mode = ProxyMode.parse(mode)
        made.request.host_header = "localhost"
        send(proxy, made)
        assert made.request.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("reloads", [False, True])
def test_connection_of_a_route_stays_one_of_tls(proxy: Proxy, reloads: bool) -> None:
    proxy.set(normalize_routes=[ROUTE])
    made = unsent(host=OPENAI)
    context = Context(made.client_conn, proxy.context.options)
    context.server.address = (OPENAI, 443)
    client_hello = cast(tls.ClientHello, SimpleNamespace(sni=OPENAI))
    proxy.addon.tls_clienthello(tls.ClientHelloData(context, client_hello))
    proxy.set(normalize_routes=[])
    if reloads:
        proxy.addon._routing = Routing(hosts=proxy.addon.options.hosts)
    made.request.scheme = "http"
    send(proxy, made)
    assert made.request.scheme == "https"


# -- the gate --------------------------------------------------------------------------


def gated(proxy: Proxy, token: str, **more: Any) -> http.HTTPFlow:
    made = unsent(**more)
    made.request.headers["authorization"] = token
    send(proxy, made)
    return made


def test_who_has_the_token_is_let_in_and_it_goes_no_further(proxy: Proxy) -> None:
    proxy.set(normalize_gate="env:A_TOKEN", normalize_keys=[f"{HOST}=env:A_KEY"])
    made = gated(proxy, "Bearer token-0815")
    assert made.response is None
    assert made.request.headers["authorization"] == f"Bearer {KEY}"
    proxy.set(normalize_keys=[])
    assert "authorization" not in gated(proxy, "Bearer token-0815").request.headers


def test_who_was_not_at_the_gate_gets_no_key(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    made = unsent()
    proxy.addon.requestheaders(made)
    proxy.set(normalize_gate="env:A_TOKEN")  # meanwhile
    proxy.addon.request(made)
    assert KEY not in made.request.headers["authorization"]


def test_who_has_no_token_is_not(proxy: Proxy) -> None:
    proxy.set(normalize_gate="env:A_TOKEN", normalize_keys=[f"{HOST}=env:A_KEY"])
    made = gated(proxy, "Bearer other")
    assert response_of(made).status_code == 401
    error = loads(response_of(made).content or b"")["error"]
    assert (error["code"], set(error)) == (
        "invalid_api_key",
        {"message", "type", "param", "code"},
    )
    assert "authorization" not in made.request.headers
    assert KEY not in str(made.get_state())


def test_gate_that_fails_is_shut(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy.set(normalize_gate="env:A_TOKEN")
    monkeypatch.setattr("llm_normalize.exchange.routing_policy.refused", fail)
    made = gated(proxy, "Bearer token-0815")
    assert response_of(made).status_code == 500
    assert conformance.check_error_body(response_of(made).content or b"") == []


def test_reverse_proxy_that_stands_open_is_warned_of(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.context.master.addons.add(ProxyAuth())
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"])
    proxy.set(mode=["reverse:https://a.test"], listen_host="")
    proxy.addon.running()
    (warned,) = [each for each in messages(caplog) if "reverse proxy" in each]
    assert "any address of this machine can use" in warned
    assert "and its key" in warned
    proxy.set(normalize_gate="env:A_TOKEN")
    proxy.addon.running()
    assert len([each for each in messages(caplog) if "reverse proxy" in each]) == 1


# -- a provider with a protocol of its own -----------------------------------------------

NATIVE = f"{OPENAI}=workers-ai:https://{HOST}/accounts/1"
TOLD = {"result": {"response": "Hi"}, "success": True, "errors": [], "messages": []}


def native(proxy: Proxy, **asked: Any) -> http.HTTPFlow:
    proxy.set(normalize_routes=[NATIVE], normalize_models=["gpt-4o=@cf/acme/brook"])
    messages = [{"role": "user", "content": "Hi"}]
    request = {"model": "gpt-4o", "messages": messages, "store": True} | asked
    return ask(proxy, host=OPENAI, path="/v1/chat/completions", request=request)


def answered(proxy: Proxy, made: http.HTTPFlow, value: Any, status: int = 200) -> bytes:
    data = value if isinstance(value, bytes) else dumps(value)
    kind = "text/event-stream" if data.startswith(b"data") else "application/json"
    made.response = http.Response.make(status, data, {"content-type": kind})
    proxy.addon.responseheaders(made)
    if callable(made.response.stream):
        out = proxy.feed(made, data) + proxy.feed(made, b"")
        proxy.addon.response(made)
        return out
    proxy.addon.response(made)
    return made.response.content or b""


def test_request_is_put_into_the_form_of_its_provider_and_back(proxy: Proxy) -> None:
    made = native(proxy, prompt_cache_key="x")
    assert made.request.url == f"https://{HOST}/accounts/1/ai/run/@cf/acme/brook"
    sent = loads(made.request.get_content() or b"")
    assert {"model", "prompt_cache_key"} & sent.keys() == set()
    body = loads(answered(proxy, made, TOLD))
    assert body["model"] == "gpt-4o"
    assert body["choices"][0]["message"]["content"] == "Hi"
    assert made.request.url == f"https://{OPENAI}/v1/chat/completions"
    assert made.metadata[NOTED]["host"] == HOST
    reported = made.metadata[NOTED]["request"]
    assert reported[0] == ["model-mapped", "changed", "model"]
    assert ["request-not-native", "dropped", "prompt_cache_key"] in reported
    (record,) = proxy.records("flow")
    assert record["path"] == "/v1/chat/completions"


def test_answer_in_one_piece_becomes_the_stream_asked_for(proxy: Proxy) -> None:
    out = answered(proxy, native(proxy, stream=True), TOLD)
    assert conformance.check_stream(out, conformance.Request()) == []
    assert b'"model":"gpt-4o"' in out
    assert conformance.meaning_of_stream(out).choices[0].text == "Hi"


def test_request_that_cannot_be_translated_is_refused(proxy: Proxy) -> None:
    strange: list[dict[str, Any]] = [{"messages": []}, {"model": ""}]
    for asked in strange:
        made = native(proxy, **asked)
        assert response_of(made).status_code == 400
        assert conformance.check_error_body(response_of(made).content or b"") == []


def test_native_provider_serves_nothing_but_its_models(proxy: Proxy) -> None:
    native(proxy)
    listed = ask(proxy, host=OPENAI, path="/v1/models", method="GET")
    assert loads(response_of(listed).content or b"")["data"][0]["id"] == "gpt-4o"
    other = ask(proxy, host=OPENAI, path="/v1/files", method="GET")
    assert response_of(other).status_code == 404
    proxy.set(normalize_models=[])
    listed = ask(proxy, host=OPENAI, path="/v1/models", method="GET")
    assert loads(response_of(listed).content or b"")["data"] == []


# -- pages of the web ------------------------------------------------------------------


def page(proxy: Proxy, origin: str, **more: Any) -> http.HTTPFlow:
    made = unsent(**more)
    made.client_conn.proxy_mode = REVERSE
    made.request.headers["origin"] = origin
    made.request.headers["access-control-request-method"] = "POST"
    send(proxy, made)
    return made


def test_page_of_a_known_origin_may_call_and_read(proxy: Proxy) -> None:
    proxy.set(normalize_cors=["https://chat.test"], normalize_gate="env:A_TOKEN")
    asked = page(proxy, "https://chat.test", method="OPTIONS")
    assert response_of(asked).status_code == 204
    refused = page(proxy, "https://chat.test")
    assert response_of(refused).status_code == 401
    proxy.addon.response(refused)
    for made in (asked, refused):
        granted = response_of(made).headers["access-control-allow-origin"]
        assert granted == "https://chat.test"


# -- options ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"normalize_routes": ["a.test"]}, "normalize_routes: 'a.test': expected host="),
        ({"normalize_routes": ["a.test=http://127.0.0.1:8080/v1"]}, "normalize_routes: 'a.test=http://127.0.0.1:8080/v1' is a loop"),
        ({"normalize_models": ["a"]}, "normalize_models: 'a': expected asked=sent"),
        ({"normalize_keys": [f"a.test={KEY}"]}, "normalize_keys: a.test: expected env:NAME"),
        ({"normalize_gate": KEY}, "normalize_gate: expected env:NAME"),
        ({"normalize_cors": ["*"]}, "normalize_cors: '*' lets every page"),
    ],
)  # fmt: skip
def test_bad_value_is_refused_and_the_old_one_stays(
    proxy: Proxy, option: dict[str, Any], said: str
) -> None:
    proxy.set(normalize_routes=[ROUTE])
    with pytest.raises(exceptions.OptionsError) as caught:
        proxy.set(**option)
    assert said in str(caught.value)
    assert KEY not in str(caught.value)
    assert ask(proxy, host=OPENAI).request.host == HOST


# -- bodies that are not read ------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("br", brotli.compress(bytes(100_000_000), quality=3), 413),
        ("gzip", b"nonsense", 400),
        ("what", b"{}", 400),
        ("", b"[" + b"{}," * 60_000 + b"{}]", 413),
    ],
)
@pytest.mark.parametrize(
    "option",
    [
        {"normalize_routes": [ROUTE]},
        {"normalize_routes": [f"{OPENAI}=workers-ai:https://cf.test/base"]},
        {"normalize_keys": [f"{OPENAI}=env:A_KEY"]},
        {"normalize_gate": "env:A_TOKEN"},
        {},
    ],
)
def test_nothing_unread_goes_where_the_proxy_lends_its_own(
    proxy: Proxy, encoding: str, body: bytes, status: int, option: dict[str, Any]
) -> None:
    proxy.set(normalize_hosts=[OPENAI], normalize_models=["gpt*=m"], **option)
    made = unsent(host=OPENAI)
    made.request.headers["authorization"] = "Bearer token-0815"
    if encoding:
        made.request.headers["content-encoding"] = encoding
    made.request.raw_content = body
    send(proxy, made)
    assert made.request.raw_content is body
    if not option:
        assert made.response is None
        return
    assert response_of(made).status_code == status
    assert KEY not in str(made.request.headers)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("zstd", zstd_frames.compress(bytes(100_000_000))),
        ("br", b"nonsense"),
        ("", b'{"data":[' + b"{}," * 60_000 + b"{}]}"),
    ],
)
def test_list_of_models_that_is_not_read_passes(
    proxy: Proxy, encoding: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.set(normalize_models=["gpt-4=m"])
    made = chat_flow(path="/v1/models", method="GET")
    response, made.response = made.response, None
    send(proxy, made)
    made.response = response
    response_of(made).headers["content-encoding"] = encoding
    response_of(made).raw_content = body
    proxy.addon.responseheaders(made)
    proxy.addon.response(made)
    assert response_of(made).raw_content is body
    begins = f"normalize: the list of models of {HOST} passes as it is ("
    assert messages(caplog)[0].startswith(begins)


def test_log_lines_are_searched_for_each_key_and_the_gates_token(proxy: Proxy) -> None:
    proxy.set(normalize_keys=[f"{HOST}=env:A_KEY"], normalize_gate="env:A_TOKEN")
    found = [each.text for each in proxy.addon._routing._secrets()]
    assert found == ["env:A_KEY", "env:A_TOKEN"]


def test_a_body_that_is_renamed_is_sent_as_it_is(proxy: Proxy) -> None:
    proxy.set(normalize_models=["gpt-4o=meta/llama"])
    made = unsent(request={"model": "gpt-4o"})
    made.request.headers["content-encoding"] = "utf-8"  # none at all, and sent as if
    send(proxy, made)
    assert made.response is None
    assert made.request.raw_content == b'{"model":"meta/llama"}'
    assert "content-encoding" not in made.request.headers


NOT_FOUND = {"status": 404, "title": "Not Found", "detail": "Function 'f': Not found"}


@pytest.mark.parametrize(
    ("status", "error", "is_gone"),
    [
        (410, {"error": {"message": "It has reached its end of life"}}, True),
        (404, NOT_FOUND, True),
        (404, {"error": {"message": "The model `acme-1` does not exist"}}, True),
        (404, {"detail": "Not Found"}, False),
        (404, {"error": {"message": "No provider serves the model you chose"}}, False),
        (400, {"error": {"message": "The model `acme-1` does not exist"}}, False),
    ],
)
@pytest.mark.parametrize("is_routed", [False, True])
def test_model_that_is_not_there_is_listed_no_more(
    proxy: Proxy, status: int, error: Any, is_gone: bool, is_routed: bool
) -> None:
    host = OPENAI if is_routed else HOST
    proxy.set(normalize_routes=[ROUTE] if is_routed else [])

    def play(key: str, body: Any, status: int = 200, **asked: Any) -> http.HTTPFlow:
        made = chat_flow(
            **asked,
            host=host,
            status=status,
            headers={"content-type": "application/json"},
        )
        response, made.response = made.response, None
        made.request.headers["authorization"] = f"Bearer {key}"
        send(proxy, made)
        made.response = response
        proxy.addon.responseheaders(made)
        response_of(made).content = dumps(body)
        proxy.respond(made)
        return made

    def listed(key: str) -> list[str]:
        models = {"object": "list", "data": [{"id": "acme-1"}, {"id": "n"}]}
        made = play(key, models, path="/v1/models", method="GET")
        return [each["id"] for each in loads(response_of(made).content or b"")["data"]]

    asked: dict[str, Any] = {
        "path": "/v1/chat/completions",
        "request": {"model": "acme-1", "messages": []},
    }
    play("a", error, status, **asked)
    assert listed("a") == (["n"] if is_gone else ["acme-1", "n"])
    assert listed("b") == ["acme-1", "n"]
    proxy.set(normalize_mode="observe")
    assert listed("a") == ["acme-1", "n"]
    proxy.set(normalize_mode="repair")
    play("a", GOOD_BODY, **asked)
    assert listed("a") == ["acme-1", "n"]
