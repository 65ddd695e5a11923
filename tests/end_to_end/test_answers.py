"""The addon in a real mitmdump, between a scripted provider and real clients."""

import gzip
import json
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.rig import DUE, SENT, whole
from llm_normalize.repair.fix import DONE, completion, wire
from llm_normalize.wire.json_text import dumps
from support import LOOPBACK, Http1Client, Mitmdump, Provider, connect, tunnelled

type Json = Any
type Start = Callable[..., Mitmdump]

ASKED = {
    "model": "acme-1",
    "stream": True,
    "messages": [{"role": "user", "content": "Name a stream."}],
}
WHOLE = {**ASKED, "stream": False}
KEY = "nvapi-canary-4711"
PROMPT = "canary prompt: the heron sleeps"
JSON = {"content-type": "application/json"}


# -- streams, as they pass ---------------------------------------------------------


def test_nim_stream_leaves_as_openai_would_send_it(
    reverse: Mitmdump, provider: Provider
) -> None:
    reply = reverse.ask(provider.script(*SENT).path, ASKED)
    assert reply.body == whole(DUE)
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/event-stream"


def test_each_event_is_one_http_chunk(reverse: Mitmdump, provider: Provider) -> None:
    gates = [threading.Event() for _ in SENT]
    parts = [part for pair in zip(SENT, gates, strict=True) for part in pair]
    script = provider.script(*parts)
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        assert reply.framing == "chunked"
        pieces = []
        # The finish reason waits for what follows it, and leaves with that.
        for gate in gates[:3]:
            pieces.append(reply.next_part())
            gate.set()
        gates[3].set()
        pieces.append(reply.next_part())
        gates[4].set()
        assert reply.next_part() == b""
    assert pieces == [*DUE[:3], whole(DUE[3:])]


@pytest.mark.parametrize("upstream", ["http/1.1", "h2"])
@pytest.mark.parametrize("mine", ["http/1.1", "h2"])
def test_first_event_does_not_wait_through_connect_and_tls(
    explicit: Mitmdump, secure: dict[str, Provider], mine: str, upstream: str
) -> None:
    provider = secure[upstream]
    gate = threading.Event()
    script = provider.script(SENT[0], gate, *SENT[1:])
    with tunnelled(explicit, f"localhost:{provider.port}", mine) as client:
        reply = client.post(script.path, ASKED)
        assert reply.until(b"\n\n") == DUE[0]
        gate.set()
        assert reply.rest() == whole(DUE)
    assert provider.protocols[-1] == upstream
    *_, flow = explicit.records(script)
    assert flow["end"] == "complete"
    assert flow["host"] == f"localhost:{provider.port}"


# -- framing -----------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["close", "http10"])
def test_stream_that_ends_with_its_connection_is_repaired(
    reverse: Mitmdump, provider: Provider, framing: str
) -> None:
    script = provider.script(*SENT, framing=framing)
    assert reverse.ask(script.path, ASKED).body == whole(DUE)
    assert reverse.records(script)[-1]["end"] == "complete"


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_http10_client_gets_the_repaired_body_unchunked(
    reverse: Mitmdump, provider: Provider, framing: str
) -> None:
    script = provider.script(*SENT, framing=framing)
    reply = reverse.ask(script.path, ASKED, version="1.0")
    assert reply.framing == "close"
    assert reply.body == whole(DUE)


# -- answers in one piece ----------------------------------------------------------


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_body_is_repaired_and_its_length_is_right(
    reverse: Mitmdump, provider: Provider, encoding: str
) -> None:
    before = dumps(completion({"role": "assistant", "content": None}))
    after = dumps(completion({"role": "assistant", "content": ""}))
    headers = {**JSON, "content-encoding": encoding} if encoding else JSON
    data = gzip.compress(before) if encoding else before
    script = provider.script(data, headers=headers, framing="length")
    with Http1Client(connect(reverse.port)) as client:
        for _ in range(2):  # a wrong length would spoil the second
            reply = client.post(script.path, WHOLE)
            assert reply.framing == "length"
            assert reply.rest() == after
    pair, flow = reverse.records(script)
    assert (pair["n"], pair["before"], pair["after"]) == (
        0,
        before.decode(),
        [after.decode()],
    )
    assert flow["stream"] is False


# -- whose TLS is opened -----------------------------------------------------------


def issuer(
    mitmdump: Mitmdump, target: str, *, ca: Path, body: Json = ASKED, path: str
) -> tuple[str, bytes]:
    """Return who signed the certificate that the client sees, and the answer."""
    tunnel = connect(mitmdump.port, tunnel=target, ca=ca)
    assert isinstance(tunnel, ssl.SSLSocket)
    certificate = tunnel.getpeercert()
    assert certificate
    names: Any = certificate["issuer"]
    with Http1Client(tunnel, target) as client:
        answer = client.post(path, body).rest()
    return dict(pair for (pair,) in names)["commonName"], answer


def test_allow_hosts_of_the_user_wins(
    explicit: Mitmdump, secure: dict[str, Provider], provider_ca: Path
) -> None:
    provider = secure["http/1.1"]
    script = provider.script(*SENT)
    target = f"{LOOPBACK}:{provider.port}"
    with explicit.options(allow_hosts=[target]):  # although it is not listed
        seen = issuer(explicit, target, ca=explicit.ca, path=script.path)
        assert seen[0] == "mitmproxy"
    target = f"localhost:{provider.port}"
    with explicit.options(allow_hosts=["elsewhere.test"]):  # although it is listed
        seen = issuer(explicit, target, ca=provider_ca, path=script.path)
        assert seen == ("provider", whole(SENT))


def test_client_may_speak_tls_with_the_proxy_itself(
    explicit: Mitmdump, provider: Provider
) -> None:
    # A "secure web proxy": the first TLS is the proxy's own, not a host's.
    script = provider.script(*SENT)
    for host in ("localhost", "proxy.invalid"):
        connection = connect(explicit.port, ca=explicit.ca, over_tls=host)
        with Http1Client(connection, f"localhost:{provider.port}") as client:
            url = f"http://localhost:{provider.port}{script.path}"
            assert client.post(url, ASKED).rest() == whole(DUE), host


def test_client_that_hangs_up_in_the_handshake_is_not_called_distrustful(
    start: Start, secure: dict[str, Provider]
) -> None:
    options = {"normalize_hosts": "localhost", "ssl_insecure": "true"}
    mitmdump = start(options=options)
    target = f"localhost:{secure['http/1.1'].port}"
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    hello = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    with connect(mitmdump.port) as raw:
        raw.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        assert b" 200 " in raw.recv(65536)
        raw.sendall(outgoing.read())
        raw.recv(65536)  # the certificate is on its way
    mitmdump.wait_for("client disconnect")
    mitmdump.stop()
    assert "does not trust mitmproxy's CA" not in mitmdump.log


def test_client_that_does_not_trust_the_ca_is_told_what_to_do(
    explicit: Mitmdump, secure: dict[str, Provider], provider_ca: Path
) -> None:
    target = f"localhost:{secure['http/1.1'].port}"
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(explicit.port, tunnel=target, ca=provider_ca)
    explicit.wait_for("it does not trust mitmproxy's CA. To fix this: ")
    explicit.wait_for(str(explicit.ca))
    explicit.wait_for("NODE_EXTRA_CA_CERTS")


# -- the pairs log -----------------------------------------------------------------


def test_nothing_of_the_request_is_logged(
    reverse: Mitmdump, provider: Provider
) -> None:
    asked = {**ASKED, "messages": [{"role": "user", "content": PROMPT}]}
    secret = {"authorization": f"Bearer {KEY}", "cookie": f"session={KEY}"}
    echo = {
        "detail": [
            {
                "type": "missing",
                "loc": ["body", "messages"],
                "msg": "no",
                "input": asked,
            }
        ]
    }
    scripts = [
        provider.script(*SENT),
        provider.script(dumps(echo), status=422, headers=JSON),
        provider.script(
            dumps({"message": f"bad key {KEY}", "request": asked}),
            status=401,
            headers=JSON,
        ),
        provider.script(
            wire([{"error": {"message": "no", "code": 422, "input": PROMPT}}, DONE])
        ),
    ]
    for script in scripts:
        reverse.ask(script.path, asked, secret)
        reverse.records(script)
    text = reverse.pairs_path.read_text()
    printed = reverse.printed()
    for secret_text in (KEY, PROMPT):
        assert secret_text not in printed
    assert KEY not in text
    for line in text.splitlines():
        assert PROMPT not in line, json.loads(line)["fixes"]
