"""Where keys go, and where not, between real clients, proxies and servers."""

import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nim_stream import ASKED, STREAM
from support import (
    LOOPBACK,
    Http1Client,
    Http2Client,
    Mitmdump,
    Provider,
    Script,
    connect,
    server_context,
    starting,
    tunnelled,
)

KEY = "nvapi-canary-4711"
TOKEN = "token-canary-0815"
EVIL = "evil.test"
CHAT = "/v1/chat/completions"

type Start = Callable[..., Mitmdump]


@pytest.fixture(scope="module")
def start(
    tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path, provider_ca: Path
) -> Iterator[Start]:
    """Start a mitmdump with a key for `localhost`, that trusts the providers' CA."""
    options: dict[str, Any] = {
        "normalize_hosts": ["localhost", EVIL],
        "normalize_keys": "localhost=env:A_KEY",
        "ssl_verify_upstream_trusted_ca": str(provider_ca),
    }
    folder = tmp_path_factory.mktemp("mitmdumps")
    with (
        starting(folder, mitm_ca, **options) as begin,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("A_KEY", KEY)
        patch.setenv("A_TOKEN", TOKEN)
        yield begin


@pytest.fixture(scope="module", params=["eager", "lazy"])
def regular(start: Start, request: pytest.FixtureRequest) -> Mitmdump:
    """A regular proxy, by either strategy of connecting."""
    return start(
        connection_strategy=request.param,
        normalize_routes=f"routed.test=http://{LOOPBACK}:1",
    )


@pytest.fixture(scope="module")
def reverse(start: Start, provider: Provider) -> Mitmdump:
    """A reverse proxy that has a key, and no gate."""
    mode = f"reverse:http://{LOOPBACK}:{provider.port}"
    return start("--mode", mode, normalize_keys=f"{LOOPBACK}=env:A_KEY")


@pytest.fixture
def impostor(provider_ca: Path) -> Iterator[Provider]:
    """A server on this machine that has a good certificate, for another name."""
    context = server_context(provider_ca.parent, "provider", ["http/1.1"], EVIL)
    with Provider(context) as made:
        yield made


def sent(script: Script) -> list[Mapping[str, str]]:
    return [each.headers for each in script.requests]


def keys_in(script: Script) -> list[Mapping[str, str]]:
    """Return the requests that brought the key."""
    return [each for each in sent(script) if KEY in str(each)]


def answer_to(raw: socket.socket, request: str) -> bytes:
    with raw:
        raw.sendall(request.encode())
        return b"".join(iter(lambda: raw.recv(65536), b""))


# -- the name that a server proves -----------------------------------------------------


def test_server_of_the_name_that_a_client_says_gets_no_key(
    regular: Mitmdump, impostor: Provider
) -> None:
    script = impostor.script(*STREAM)
    target = f"localhost:{impostor.port}"
    with tunnelled(regular, target, sni=EVIL) as client:
        assert client.post(script.path, ASKED).status == 502
    assert sent(script) == []


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
@pytest.mark.parametrize("sni", [None, EVIL])
def test_server_that_proves_its_name_gets_the_key_and_no_other_name(
    regular: Mitmdump, secure: dict[str, Provider], alpn: str, sni: str | None
) -> None:
    provider = secure[alpn]
    script = provider.script(*STREAM)
    target = f"localhost:{provider.port}"
    client = tunnelled(regular, target, alpn, host=EVIL, sni=sni)
    more = {
        "authorization": "Bearer sk-own",
        "x-forwarded-host": EVIL,
        "forwarded": f"host={EVIL}",
        "x-original-url": "/v1/files",
        "x-http-method-override": "DELETE",
        "helicone-target-url": f"https://{EVIL}",
        "x-stainless-lang": "python",
    }
    with client:
        assert client.post(script.path, ASKED, more).rest().endswith(b"[DONE]\n\n")
    (got,) = sent(script)
    assert got["authorization"] == f"Bearer {KEY}"
    assert got.get("host", got.get(":authority")) == target
    assert got["x-stainless-lang"] == "python"
    assert EVIL not in str(got)
    assert "sk-own" not in str(got)
    assert "DELETE" not in str(got)
    assert "/v1/files" not in str(got)


def test_name_in_the_client_s_tls_does_not_choose_who_a_reverse_proxy_asks(
    start: Start, impostor: Provider, secure: dict[str, Provider]
) -> None:
    for provider, alpn, status in (
        (impostor, "http/1.1", 502),
        (secure["http/1.1"], "http/1.1", 200),
        (secure["h2"], "h2", 200),
    ):
        script = provider.script(*STREAM)
        mode = f"reverse:https://localhost:{provider.port}"
        mitmdump = start("--mode", mode, keep_host_header="true")
        raw = socket.create_connection((LOOPBACK, mitmdump.port), 20)
        context = ssl.create_default_context(cafile=mitmdump.ca)
        context.set_alpn_protocols([alpn])
        host = f"localhost:{mitmdump.port}"
        inside = context.wrap_socket(raw, server_hostname=EVIL)
        client: Http1Client | Http2Client
        client = (
            Http2Client(inside, host) if alpn == "h2" else Http1Client(inside, host)
        )
        with client:
            assert client.post(script.path, ASKED).status == status
        for got in sent(script):
            assert got["authorization"] == f"Bearer {KEY}"
            place = got.get("host", got.get(":authority"))
            assert place == f"localhost:{provider.port}"


def test_key_goes_to_nobody_whose_certificate_is_not_verified(
    start: Start, impostor: Provider, secure: dict[str, Provider]
) -> None:
    mitmdump = start(ssl_insecure="true")
    for provider in (impostor, secure["http/1.1"]):
        script = provider.script(*STREAM)
        target = f"localhost:{provider.port}"
        with tunnelled(mitmdump, target) as client:
            reply = client.post(script.path, ASKED)
            assert (reply.status, b"ssl_insecure" in reply.rest()) == (500, True)
            # Nor on a connection from before it was switched off.
            mitmdump.set(ssl_insecure=False)
            reply = client.post(script.path, ASKED)
            assert (reply.status, b"proved" in reply.rest()) == (502, True)
            mitmdump.set(ssl_insecure=True)
        assert sent(script) == []


def test_connection_that_is_older_than_the_key_gets_none(
    start: Start, impostor: Provider
) -> None:
    script = impostor.script(*STREAM)
    mitmdump = start(normalize_keys="other.test=env:A_KEY")
    target = f"localhost:{impostor.port}"
    with tunnelled(mitmdump, target, sni=EVIL) as client:
        assert client.post(script.path, ASKED).rest().endswith(b"[DONE]\n\n")
        mitmdump.set(normalize_keys=["localhost=env:A_KEY"])
        assert client.post(script.path, ASKED).status == 502
    assert len(sent(script)) == 1
    assert keys_in(script) == []


def test_key_does_not_go_along_where_another_addon_sends_a_request(
    start: Start, provider: Provider, secure: dict[str, Provider]
) -> None:
    script = provider.script(*STREAM)
    asked = secure["http/1.1"]
    mitmdump = start(
        map_remote=f"|https://localhost:{asked.port}|http://{LOOPBACK}:{provider.port}",
        stickyauth="~all",
    )
    target = f"localhost:{asked.port}"
    with tunnelled(mitmdump, target) as client:
        for _ in range(2):
            client.post(script.path, ASKED).rest()
    assert len(sent(script)) == 2
    assert keys_in(script) == []


def test_target_of_a_route_proves_its_own_name(
    start: Start, impostor: Provider, secure: dict[str, Provider]
) -> None:
    for provider, status in ((impostor, 502), (secure["http/1.1"], 200)):
        script = provider.script(*STREAM)
        base = script.path.removesuffix(CHAT)
        mitmdump = start(
            normalize_routes=f"{EVIL}=https://localhost:{provider.port}{base}/v1"
        )
        with tunnelled(mitmdump, f"{EVIL}:443", host=EVIL) as client:
            own = {"x-forwarded-host": EVIL}
            reply = client.post(f"{CHAT}?key=sk-own&a=b", ASKED, own)
            assert reply.status in (status, 500)
        assert [each["host"] for each in keys_in(script)] == [
            f"localhost:{provider.port}"
        ] * len(sent(script))


def test_key_goes_by_whatever_way_to_the_server_that_it_is_for(
    start: Start, secure: dict[str, Provider]
) -> None:
    provider = secure["http/1.1"]
    target = f"localhost:{provider.port}"
    behind = start(normalize_keys="other.test=env:A_KEY", ignore_hosts=".*")
    for mode, alpn in (
        ("regular", "h2"),  # and on by HTTP/1
        (f"upstream:http://{LOOPBACK}:{behind.port}", "http/1.1"),
    ):
        script = provider.script(*STREAM)
        mitmdump = start("--mode", mode, connection_strategy="lazy")
        with tunnelled(mitmdump, target, alpn, host=EVIL) as client:
            assert client.post(script.path, ASKED).status == 200
        (got,) = sent(script)
        assert got["authorization"] == f"Bearer {KEY}"
        assert got["host"] == target


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_request_that_is_sent_again_has_the_key_too(
    regular: Mitmdump, secure: dict[str, Provider], alpn: str
) -> None:
    refusal = Script("", [b'{"detail":"Unsupported parameter: `seed`"}'], 400)
    script = secure[alpn].script(*STREAM, turns=[refusal])
    target = f"localhost:{secure[alpn].port}"
    with tunnelled(regular, target, "h2") as client:
        reply = client.post(script.path, {**ASKED, "seed": 7})
        assert (reply.status, reply.rest()[-14:]) == (200, b"data: [DONE]\n\n")
    assert [each["authorization"] for each in sent(script)] == [f"Bearer {KEY}"] * 2
    assert KEY not in regular.printed() + json.dumps(regular.records(script))


# -- TLS that stays closed -------------------------------------------------------------


PROBE = "check.llm-normalize.invalid"


@pytest.mark.parametrize("host", ["localhost", "routed.test", PROBE])
def test_name_that_is_not_listed_is_not_opened_whatever_the_tunnel_is_to(
    regular: Mitmdump, secure: dict[str, Provider], host: str
) -> None:
    target = f"{host}:{secure['http/1.1'].port}"
    with pytest.raises(OSError):  # noqa: PT011 - no certificate of mitmproxy's CA
        connect(regular.port, tunnel=target, ca=regular.ca, sni="bank.test").close()


# -- what a key is for -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("", "localhost", 200),
        ("", f"{LOOPBACK}:8080", 200),
        ("", "[::1]:8080", 200),
        ("", EVIL, 200),  # it is listed
        ("", "rebound.test:8080", 403),
        ("", "127.0.0.1.rebound.test", 403),
        ("http://rebound.test", "localhost", 200),
        ("http://rebound.test", "rebound.test", 403),
    ],
)
def test_name_that_a_page_has_let_lead_here_uses_no_key(
    reverse: Mitmdump, provider: Provider, target: str, host: str, status: int
) -> None:
    script = provider.script(b"{}", framing="length", path="/v1/models")
    answer = answer_to(
        connect(reverse.port),
        f"GET {target}{script.path} HTTP/1.1\r\nhost: {host}\r\n"
        "connection: close\r\n\r\n",
    )
    assert int(answer.split()[1]) == status
    assert [each["host"] for each in keys_in(script)] == [
        f"{LOOPBACK}:{provider.port}"
    ] * (status == 200)


# -- echoes ------------------------------------------------------------------------------


def test_key_that_headers_echo_is_neither_sent_nor_saved(
    start: Start, secure: dict[str, Provider], tmp_path: Path
) -> None:
    provider = secure["http/1.1"]
    flows, har = tmp_path / "flows", tmp_path / "flows.har"
    mitmdump = start("-w", str(flows), hardump=str(har))
    target = f"localhost:{provider.port}"
    heads = b"".join(
        b"%s: %s\r\n" % each
        for each in (
            (b"Location", b"https://x.test/?key=" + KEY.encode()),
            (b"Set-Cookie", b"a=" + KEY.encode()),
            (b"Set-Cookie", b"b=" + KEY.encode()),
            (b"X-" + KEY.encode(), b"1"),
        )
    )
    for status in (b"200", b"302", b"401"):
        answer = b"HTTP/1.1 %s Bad %s\r\n%s" % (status, KEY.encode(), heads)
        answer += b"Content-Length: 2\r\n\r\n{}"
        script = provider.script(answer, framing="raw")
        raw = connect(mitmdump.port, tunnel=target, ca=mitmdump.ca)
        got = answer_to(
            raw,
            f"POST {script.path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
            "content-length: 2\r\n\r\n{}",
        )
        assert len(keys_in(script)) == 1
        assert b"***" in got
        assert KEY.encode() not in got
    mitmdump.terminate()
    assert script.path.encode() in flows.read_bytes()
    assert script.path in har.read_text()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    assert KEY not in mitmdump.log


# -- this machine ------------------------------------------------------------------------

HERE = (
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "0.0.0.0",
    "[::]",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "a.localhost",
    socket.gethostname(),
)


def test_proxy_does_not_connect_to_itself_by_whatever_name(start: Start) -> None:
    mitmdump = start(normalize_only="false")
    port = mitmdump.port
    before = mitmdump.printed().count("client connect")
    for host in HERE:
        place = f"{host}:{port}"
        tail = f"HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n"
        for line, status in (
            ("GET /status.json", b"403"),
            (f"GET http://{place}/status.json", b"403"),
            (f"CONNECT {place}", b"502"),
        ):
            answer = answer_to(connect(port), f"{line} {tail}")
            assert answer.split()[1] == status
            assert b"is the proxy's own" in answer
    mitmdump.stop()
    assert mitmdump.log.count("client connect") - before == 3 * len(HERE)
    assert "server connect " not in mitmdump.log


def test_reverse_proxy_of_itself_stops_at_once(start: Start) -> None:
    with socket.create_server((LOOPBACK, 0)) as free:
        port = free.getsockname()[1]
    mode = f"reverse:http://[::ffff:127.0.0.1]:{port}"
    more = ("--listen-port", str(port))
    mitmdump = start("--mode", mode, *more, connection_strategy="lazy")
    before = mitmdump.printed().count("client connect")
    answer_to(
        connect(mitmdump.port),
        f"GET / HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n",
    )
    mitmdump.stop()
    assert mitmdump.log.count("client connect") == before + 1
    assert "server connect " not in mitmdump.log


# -- the gate --------------------------------------------------------------------------


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_token_goes_no_further_wherever_else_it_stands(
    start: Start, secure: dict[str, Provider], tmp_path: Path, alpn: str
) -> None:
    flows = tmp_path / "flows"
    provider = secure[alpn]
    mitmdump = start(
        "-w",
        str(flows),
        normalize_gate="env:A_TOKEN",
        normalize_keys="x.test=env:A_KEY",
    )
    quoted = TOKEN.replace("-", "%2D")
    target = f"localhost:{provider.port}"
    for query, more in (
        (f"?key={TOKEN}", {}),
        (f"?a=b&api_key={quoted}", {}),
        (f"?access_token={quoted.replace('%', '%25')}", {}),
        (f"?{TOKEN}", {}),
        ("", {"cookie": f"a=b; c={TOKEN}", "x-other": f"Basic {TOKEN}"}),
        ("", {"proxy-authorization": f"Bearer {TOKEN}", "x-api-key": quoted}),
    ):
        script = provider.script(*STREAM)
        for each in (query, "?a=b"):
            provider.alias(script, script.path + each)
        with tunnelled(mitmdump, target, alpn) as client:
            bearer = {"authorization": f"Bearer {TOKEN}"}
            assert client.post(script.path + query, ASKED, bearer | more).status == 200
        (got,) = sent(script)
        assert "canary" not in str(got)
    with tunnelled(mitmdump, target) as http1:
        assert http1.post(f"/{TOKEN}{CHAT}", ASKED, bearer).status == 404
    mitmdump.terminate()
    assert b"canary" not in flows.read_bytes()
